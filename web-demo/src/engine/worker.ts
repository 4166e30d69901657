/** The worker: loads the modules and answers the page's requests. */

import labWasm from "../../../target/page/lab.wasm?url";
import storyWasm from "../../../target/page/story.wasm?url";
import { Desk, type Part } from "./desk";
import type { Request } from "./messages";
import { Simulator, type Exports } from "./simulator";

const files = { story: storyWasm, lab: labWasm };

/** Returns a function that makes a new instance of a module. */
async function load(part: Part): Promise<() => Simulator> {
  const response = await fetch(files[part]);
  if (!response.ok) throw new Error(`the server answers ${response.status} for ${response.url}`);
  const module = await WebAssembly.compile(await response.arrayBuffer());
  return () => new Simulator(new WebAssembly.Instance(module).exports as unknown as Exports);
}

const desk = new Desk(load, (replies, transfer) => postMessage(replies, { transfer }));

onmessage = ({ data }: MessageEvent<Request[]>) => desk.take(data);

/** The worker: loads the module and answers the page's requests. */

import labWasm from "../../../target/page/lab.wasm?url";
import { Desk } from "./desk";
import type { Request } from "./messages";
import { Simulator, type Exports } from "./simulator";

/** Returns a function that makes a new instance of the module. */
async function load(): Promise<() => Simulator> {
  const response = await fetch(labWasm);
  if (!response.ok) throw new Error(`the server answers ${response.status} for ${response.url}`);
  const module = await WebAssembly.compile(await response.arrayBuffer());
  return () => new Simulator(new WebAssembly.Instance(module).exports as unknown as Exports);
}

const desk = new Desk(load, (replies, transfer) => postMessage(replies, { transfer }));

onmessage = ({ data }: MessageEvent<Request[]>) => desk.take(data);

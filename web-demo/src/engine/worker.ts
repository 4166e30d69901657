/** The worker: loads the modules and answers the page's requests. */

import labWasm from "../../../target/page/lab.wasm?url";
import storyWasm from "../../../target/page/story.wasm?url";
import { Desk } from "./desk";
import { load } from "./load";
import type { Request } from "./messages";

const files = { story: storyWasm, lab: labWasm };
const desk = new Desk(
  (part) => load(files[part]),
  (replies, transfer) => postMessage(replies, { transfer }),
);

onmessage = ({ data }: MessageEvent<Request[]>) => desk.take(data);

/** The worker: loads the modules and answers the page's requests. */

import labScript from "../../../target/page/lab.js?url";
import labWasm from "../../../target/page/lab.wasm?url";
import storyScript from "../../../target/page/story.js?url";
import storyWasm from "../../../target/page/story.wasm?url";
import { Desk } from "./desk";
import { load } from "./load";
import type { Request } from "./messages";

const files = { story: [storyWasm, storyScript], lab: [labWasm, labScript] } as const;
const desk = new Desk(
  (part) => load(...files[part]),
  (replies, transfer) => postMessage(replies, { transfer }),
);

onmessage = ({ data }: MessageEvent<Request[]>) => desk.take(data);

/** What bodies say: errors in JSON, and streams of server-sent events. */

import { beginning, excerpt, looked } from "./body.js";
import type { Core } from "./core.js";
import type { Entry } from "./lane.js";
import { isStream, isTelling, type ResponseLike } from "./reply.js";

/** What is done with the stream of a call. */
export interface Stream {
  /** Reads the next bytes, or the end. */
  look(bytes?: Uint8Array): void;
  /** The call gives its place back. */
  free(): void;
}

/** Reads bodies. */
export interface Bodies {
  isStream(core: Core, response: Response): boolean;
  /** Reads the body of a response that may say more than its status; `undefined` if it does not. */
  read(core: Core, response: Response, method: string): Promise<ResponseLike> | undefined;
  /** The reply of a stream that began with this error, or without one. */
  begun(response: ResponseLike, error: string): ResponseLike;
  /** Reads the stream of a call. `learn` is called once its beginning is known. */
  stream(lane: Entry, permit: number | undefined, learn: ((error: string) => void) | undefined): Stream;
}

export const bodies: Bodies = {
  isStream,
  read(core, response, method) {
    if (!isTelling(core, response, method)) return;
    return looked(response, async (copy) => ({ status: response.status, headers: response.headers, excerpt: await excerpt(copy) }));
  },
  begun: ({ status, headers }, error) => (error ? { status: 503, headers, excerpt: new TextEncoder().encode(error) } : { status, headers }),
  stream(lane, permit, learn) {
    const begins = learn && beginning();
    const know = (error: string | undefined) => {
      if (error === undefined || !learn) return;
      // Listeners may end the call.
      const once = learn;
      learn = undefined;
      once(error);
      if (lane.waiting) lane.changed();
    };
    return {
      look(bytes) {
        if (learn) know(begins!(bytes));
        if (permit !== undefined) lane.stream(permit, bytes);
      },
      free() {
        know("");
        permit = undefined;
      },
    };
  },
};

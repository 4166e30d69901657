/** Responses whose body is still on its way. */

/** So many bytes are read ahead, so that a short body that nobody reads comes to its end. */
const AHEAD = 65_536;

/** The same response, which calls back when its body has ended, failed or been cancelled. An abort is thrown as its signal's reason. */
export function held(response: Response, signal: AbortSignal | null | undefined, end: () => void): Response {
  const { body: source, status } = response;
  // What is opaque, of another make than `fetch`, or read already has no stream to watch; and no other status can be made by hand.
  if (!source?.getReader || source.locked || status < 200 || status > 599) {
    end();
    return response;
  }
  const reader = source.getReader();
  const pull = async (to: ReadableStreamDefaultController<Uint8Array>) => {
    try {
      const { done, value } = await reader.read();
      if (!done) return to.enqueue(value);
      to.close();
    } catch (error) {
      to.error(signal?.aborted ? signal.reason : error);
    }
    end();
  };
  const cancel = (reason: unknown) => {
    end();
    return reader.cancel(reason);
  };
  const body = new ReadableStream({ pull, cancel }, { highWaterMark: AHEAD, size: (chunk) => chunk!.byteLength });
  return dressed(new Response(body, response), response);
}

/** A response that is made by hand does not know where it came from. */
function dressed(response: Response, from: Response): Response {
  const clone = () => dressed(Response.prototype.clone.call(response), from);
  const { url, redirected, type } = from;
  return Object.defineProperties(response, {
    url: { value: url }, redirected: { value: redirected }, type: { value: type }, clone: { value: clone },
  });
}

/** What `look` makes of a copy of a response, whose body it may read or leave. */
export async function looked<R>(response: Response, look: (copy: Response) => R): Promise<Awaited<R>> {
  const copy = response.clone();
  try {
    return await look(copy);
  } finally {
    // What is left unread would be kept in memory. (It ends when the other copy does.)
    if (!copy.bodyUsed) copy.body?.cancel().catch(() => {});
  }
}

/** So many bytes of a body are looked at, and no longer than so many milliseconds. */
const EXCERPT = 8_192;
const PATIENCE = 1_000;

/** The first bytes of a body. */
export async function excerpt(copy: Response): Promise<Uint8Array> {
  const bytes = new Uint8Array(EXCERPT);
  const reader = copy.body!.getReader();
  const stop = () => void reader.cancel().catch(() => {});
  const timer = setTimeout(stop, PATIENCE);
  let length = 0;
  try {
    while (length < EXCERPT) {
      const { done, value } = await reader.read();
      if (done) break;
      const piece = value.subarray(0, EXCERPT - length);
      bytes.set(piece, length);
      length += piece.length;
    }
  } catch {
    // Who reads the body meets the error.
  }
  clearTimeout(timer);
  stop();
  return bytes.subarray(0, length);
}

/** Lets go of the body of a response that nobody reads; whether there was one. */
export function discard(value: unknown): boolean {
  const body = (value as Response | null | undefined)?.body;
  if (!body?.cancel) return false;
  body.cancel().catch(() => {});
  return true;
}

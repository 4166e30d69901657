/** Responses whose body is still arriving. */

/** Bytes that are read ahead, so that a short body ends even if the program does not read it. */
const AHEAD = 65_536;

/**
 * The same response; calls back when its body has ended, failed or been cancelled. An abort throws
 * the signal's reason. `look` gets the body as it arrives, and nothing at its end.
 */
export function held(response: Response, signal: AbortSignal | null | undefined, end: () => void, look?: (bytes?: Uint8Array) => void): Response {
  const { body: source, status } = response;
  // A response that is opaque, not from `fetch`, or already read has no stream to watch. Other
  // statuses cannot be constructed.
  if (!source?.getReader || source.locked || status < 200 || status > 599) {
    end();
    return response;
  }
  const reader = source.getReader();
  const pull = async (to: ReadableStreamDefaultController<Uint8Array>) => {
    try {
      const { done, value } = await reader.read();
      look?.(value);
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

/** A constructed response has no URL, type or redirect flag, so they are copied. */
function dressed(response: Response, from: Response): Response {
  const clone = () => dressed(Response.prototype.clone.call(response), from);
  const { url, redirected, type } = from;
  return Object.defineProperties(response, {
    url: { value: url }, redirected: { value: redirected }, type: { value: type }, clone: { value: clone },
  });
}

/** Returns what `look` makes of a copy of a response. `look` may read its body. */
export async function looked<R>(response: Response, look: (copy: Response) => R): Promise<Awaited<R>> {
  const copy = response.clone();
  try {
    return await look(copy);
  } finally {
    // A copy that is not read would stay in memory. (Cancelling ends when the other copy ends.)
    if (!copy.bodyUsed) copy.body?.cancel().catch(() => {});
  }
}

/** The number of bytes of a body that are read, and the time limit for it in milliseconds. */
const EXCERPT = 8_192;
const PATIENCE = 1_000;

/** Returns the first bytes of a body. */
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
    // The reader of the body gets the error.
  }
  clearTimeout(timer);
  stop();
  return bytes.subarray(0, length);
}

/** Server-sent events before the content of a stream, and an error. */
const BEFORE = /^(:|event: ?(ping|message_start|response\.(created|queued|in_progress))\b)/;
const ERROR = /^(event: ?(error|response\.failed)\b|data: ?\{ ?"(error":|type": ?"error"))/m;

/**
 * Returns a function that gets a stream of server-sent events as it arrives, and nothing at its end. It returns the
 * data of an error that came before the content, or "" without one, as soon as that is known.
 */
export function beginning(): (bytes?: Uint8Array) => string | undefined {
  const decoder = new TextDecoder();
  let text = "";
  return (bytes) => {
    text += decoder.decode(bytes, { stream: true });
    for (let end; (end = /(\r?\n){2}/.exec(text)) || !bytes; text = text.slice(end.index + end[0].length)) {
      const event = end ? text.slice(0, end.index) : text;
      if (ERROR.test(event)) return event.replace(/^(data:|.+)/gm, " ");
      if (!end || !BEFORE.test(event)) return "";
    }
    return text.length < EXCERPT ? undefined : "";
  };
}

/** Cancels the body of a response that will not be read. Returns whether there was one. */
export function discard(value: unknown): boolean {
  const body = (value as Response | null | undefined)?.body;
  if (!body?.cancel) return false;
  body.cancel().catch(() => {});
  return true;
}

/** Passes the result of a call to the core, which reads the headers. */

import type { Core } from "./core.js";
import { PolicyError } from "./errors.js";
import { told } from "./policy.js";

/**
 * The outcome of a call.
 *
 * - `"ok"`: the server answered
 * - `"throttled"`: the server rejected the call because of a limit (429)
 * - `"busy"`: the server is overloaded (503)
 * - `"failed"`: there is no usable response
 * - `"abandoned"`: the call was ended on this side
 * - `"exhausted"`: a quota is used up or unpaid, and waiting will not help soon; never retried
 * - `"final"`: the server answered, and another attempt would not help; never retried
 */
export type Outcome = (typeof OUTCOMES)[number];

/** The outcomes in the core's order, then one that the core treats as `"ok"`. */
export const OUTCOMES = ["ok", "throttled", "busy", "failed", "abandoned", "exhausted", "final"] as const;
const FINAL = 6;

/** Anything with the shape of a response, such as those of `fetch`, axios and Node. */
export interface ResponseLike {
  readonly status: number;
  readonly headers?: unknown;
  /** The first bytes of the body, if they may say more than the status. */
  readonly excerpt?: Uint8Array | undefined;
}

/** The result of a call: an outcome, an outcome with a cooldown in milliseconds, or the response. */
export type Reply = Outcome | { readonly outcome: Outcome; readonly retryAfter?: number | undefined } | ResponseLike;

/** Prepares the core's reply, and returns its outcome's number. */
export function tell(core: Core, reply: Reply): number {
  if (typeof reply !== "object" || !reply) return answer(core, reply, NaN);
  if ("outcome" in reply) return answer(core, reply.outcome, reply.retryAfter ?? NaN);
  return read(core, reply);
}

function answer(core: Core, outcome: Outcome, cooldown: number): number {
  const number = OUTCOMES.indexOf(outcome);
  if (number < 0) throw new PolicyError(`the outcome is ${told(outcome)}; it must be one of ${OUTCOMES.join(", ")}`);
  core.answer(number === FINAL ? 0 : number, cooldown);
  return number;
}

/** Whether the body of a response may describe a limit beyond its status. A response to a POST may be GraphQL. */
export function isTelling(core: Core, { status, headers, body, bodyUsed }: Response, method: string): boolean {
  if (!body?.getReader || body.locked || bodyUsed) return false;
  return !!core.worth(status, mediaType(core, headers), /^post$/i.test(method));
}

/** Whether the body of a response is a stream that may report tokens. */
export function isStream(core: Core, { headers }: Response): boolean {
  return !!core.streams(mediaType(core, headers));
}

/** Passes the media type of a response to the core. Returns its length. */
function mediaType(core: Core, headers: Headers): number {
  return put(core.room(), headers?.get?.("content-type") ?? "");
}

/**
 * Writes a text into a buffer, and returns its end, which the core ignores if it is not in the buffer. jsdom has no
 * `TextEncoder`, and `fetch` makes a character of each byte. One that stands for no byte becomes 255.
 */
function put(room: Uint8Array, text: string, at = 0): number {
  for (let i = 0; i < text.length; i++) room[at++] = Math.min(text.charCodeAt(i), 255);
  return at;
}

/** Calls back for each header of `Headers`, or of an object. */
function each(headers: unknown, header: (value: unknown, name: string) => void): void {
  if (typeof (headers as Headers)?.forEach === "function") (headers as Headers).forEach(header);
  else if (headers) for (const [name, value] of Object.entries(headers)) header(value, name);
}

function read(core: Core, { status, headers, excerpt }: ResponseLike): number {
  const room = core.room();
  core.status(status);
  each(headers, (value, name) => {
    const start = put(room, name);
    core.header(start, put(room, String(value), start));
  });
  // The property may be of a value that is no response, and `tidegate/lite` reads no bodies.
  for (let at = 0; core.body && ArrayBuffer.isView(excerpt) && at < excerpt.length; at += room.length) {
    const piece = excerpt.subarray(at, at + room.length);
    room.set(piece);
    core.body(piece.length);
  }
  return core.read(Date.now());
}

/** The response in a result, or in an error as clients throw it; `undefined` without one. */
export function responseIn(value: unknown, inside = true): ResponseLike | undefined {
  const it = value as (Record<string, unknown> & Pick<ResponseLike, "excerpt">) | null | undefined;
  if (typeof it !== "object" || it === null) return;
  const inner = inside && responseIn(it.response, false);
  if (inner) return inner;
  const status = it.status ?? it.statusCode;
  if (typeof status === "number") return { status, headers: it.headers, excerpt: it.excerpt };
}

/** Whether the server has refused an HTTP/2 stream before it did anything: one above the last ID of a GOAWAY, too. */
export function isRefused(error: unknown): boolean {
  const { cause = error } = (error ?? {}) as { cause?: unknown };
  const { http2ErrorCode, message } = (cause ?? {}) as { http2ErrorCode?: unknown; message?: unknown };
  return http2ErrorCode === 7 || /REFUSED_STREAM/.test(String(message));
}

/** Whether another attempt would fail in the same way: an unknown host, a certificate, an invalid argument. */
export function isHopeless(error: unknown): boolean {
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: { code?: unknown } };
  return /ENOTFOUND|CERT|SELF_SIGNED|UNABLE_TO_|INVALID_(ARG|URL|PROTOCOL)/.test(String(cause?.code ?? code));
}

/** Whether an error is a browser's, which hides whether the network failed or CORS forbids the call. */
export function isBlind(error: unknown): boolean {
  return error instanceof TypeError && /^(Failed to fetch|Load failed|NetworkError)/.test(error.message);
}

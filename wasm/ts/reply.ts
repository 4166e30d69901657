/** What a call came back with, handed to the core: it reads the headers, not we. */

import type { Core } from "./core.js";

/** What became of a call, in the five ways that matter to a throttle. */
export type Outcome = "ok" | "throttled" | "busy" | "failed" | "abandoned";

/** The outcomes in the core's order. */
export const OUTCOMES: readonly Outcome[] = ["ok", "throttled", "busy", "failed", "abandoned"];

/** What looks like a response: of `fetch`, of axios, of Node. */
export interface ResponseLike {
  readonly status: number;
  readonly headers?: unknown;
}

/** What can be told of a call: an outcome, one with a pause in milliseconds, or the response. */
export type Reply = Outcome | { readonly outcome: Outcome; readonly retryAfter?: number } | ResponseLike;

/** Prepares the core's reply, and tells its outcome's number. */
export function tell(core: Core, reply: Reply): number {
  if (typeof reply !== "object") return told(core, reply, NaN);
  if ("outcome" in reply) return told(core, reply.outcome, reply.retryAfter ?? NaN);
  return read(core, reply.status, reply.headers);
}

function told(core: Core, outcome: Outcome, pause: number): number {
  const number = OUTCOMES.indexOf(outcome);
  core.answer(number, pause);
  return number;
}

let encoder: TextEncoder | undefined;

function read(core: Core, status: number, headers: unknown): number {
  encoder ??= new TextEncoder();
  const room = core.room();
  core.status(status);
  const header = (value: unknown, name: string) => {
    const start = encoder!.encodeInto(name, room).written;
    const text = String(value);
    const { read, written } = encoder!.encodeInto(text, room.subarray(start));
    // One that is too long for the room is none that tells of limits.
    if (read === text.length) core.header(start, start + written);
  };
  if (typeof (headers as Headers)?.forEach === "function") (headers as Headers).forEach(header);
  else if (headers) for (const [name, value] of Object.entries(headers)) header(value, name);
  return core.read(Date.now());
}

/** The response in a result, or in an error as clients throw it; `undefined` where there is none. */
export function responseIn(value: unknown): ResponseLike | undefined {
  const it = value as Record<string, unknown> | null | undefined;
  if (typeof it !== "object" || it === null) return;
  const inner = it.response as ResponseLike | undefined;
  if (typeof inner?.status === "number") return inner;
  const status = it.status ?? it.statusCode;
  if (typeof status === "number") return { status, headers: it.headers };
}

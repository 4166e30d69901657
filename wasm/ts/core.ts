/**
 * The wasm module: its exports, how it is loaded, and two views of its memory.
 *
 * Nothing is compiled before the first use: a worker's module scope may do little, and a page that
 * imports a gate may never make a call.
 */

import { TidegateError } from "./errors.js";

/** The exports of `tidegate-wasm`. Its Rust sources document each function. */
export interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer };
  numbers(): number;
  bytes(): number;
  open(high: number, low: number, now: number, queue: number): number;
  /** Of `tidegate/full` only, like `snapshot`. */
  restore?(high: number, low: number, now: number, length: number, away: number, queue: number): number;
  close(gate: number): void;
  follow(gate: number, now: number): number;
  /** Not of shared budgets. */
  reset(gate: number, now: number): void;
  poll(gate: number, now: number, requests: number, tokens: number): number;
  join(gate: number, call: number, now: number, deadline: number, requests: number, tokens: number, priority: number, turn: number): number;
  next(gate: number, now: number): number;
  given(): number;
  first(gate: number): number;
  cancel(gate: number, slot: number, turn: number): void;
  reason(): number;
  late(): number;
  why(gate: number, call: number, now: number, deadline: number, requests: number, tokens: number): number;
  learn(gate: number, permit: number, now: number): void;
  /** Of `tidegate/full` only, like the next five. */
  again?(permit: number): void;
  keeps_until?(gate: number, place: number, call: number, now: number, requests: number, tokens: number, since: number, delayed: number): number;
  lend?(gate: number, permit: number, call: number, requests: number, tokens: number, until: number): void;
  refund?(gate: number, permit: number, now: number): void;
  learn_beside?(gate: number, permit: number, beside: number, last: number, now: number): void;
  retry_beside?(gate: number, call: number, now: number, deadline: number, requests: number, tokens: number, level: number): void;
  stream(gate: number, permit: number, length: number, now: number): void;
  release(gate: number, permit: number, now: number): void;
  pause(gate: number, paused: boolean): void;
  peek(gate: number, now: number): number;
  retry(gate: number, call: number, now: number, deadline: number, requests: number, tokens: number, level: number): number;
  not_before(call: number): number;
  forget(call: number): void;
  answer(outcome: number, cooldown: number): void;
  status(status: number): void;
  header(name: number, both: number): void;
  worth(status: number, length: number, mayBeGraphql: boolean): number;
  streams(length: number): number;
  /** Not of `tidegate/lite`. */
  body?(length: number): void;
  read(clock: number): number;
  cooldown(): number;
  used(requests: number, tokens: number): void;
  interval(gate: number, limit: number, now: number): number;
  stats(gate: number): number;
  snapshot?(gate: number, now: number): number;
}

/** The module instance and its buffers. */
export interface Core extends Exports {
  /** A buffer for a policy, and for the counters. */
  row(): Float64Array;
  /** A buffer for a header's name and value, or for a record. */
  room(): Uint8Array;
}

/** Returns a function that creates the instance on its first call. */
export function lazily(instantiate: () => Exports): () => Core {
  let core: Core | undefined;
  return () => (core ??= dress(instantiate()));
}

/** When wasm memory grows, its views become detached; so they are created on demand. */
export function dress(exports: Exports): Core {
  return {
    ...exports,
    row: () => new Float64Array(exports.memory.buffer, exports.numbers(), 19),
    room: () => new Uint8Array(exports.memory.buffer, exports.bytes(), 4096),
  };
}

/** Instantiates a compiled module, which has no imports. */
export function instance(module: object): Exports {
  return new WebAssembly.Instance(module as WebAssembly.Module).exports as unknown as Exports;
}

/** Compiles and instantiates a module. Without permission, WebKit compiles it and does not instantiate it. */
export function permitted(load: () => Exports): Exports {
  try {
    return load();
  } catch (error) {
    throw new TidegateError("COMPILE", `WebAssembly does not compile here (${String(error)}): if the content security policy lacks 'wasm-unsafe-eval', import tidegate/js`);
  }
}

/** Compiles a module that the build has packed. */
export function compile(packed: string, common: string): object {
  return new WebAssembly.Module(unpack(packed, common));
}

/**
 * Unpacks the bytes that the build wrote as a string: 91 printable characters stand for the 91 most
 * frequent bytes, which have a bit in `common`; the other bytes are a `!` or a space and one
 * character. Gzip then sees whole bytes, and the result is a fifth smaller than base 64.
 */
export function unpack(text: string, common: string): Uint8Array<ArrayBuffer> {
  // What each character means: alone, after a `!`, and after a space.
  const meanings = new Uint8Array(3 * 128);
  const counts = [91, 0];
  for (let byte = 0; byte < 256; byte++) {
    const place = counts[(parseInt(common[byte >> 2]!, 16) >> (byte & 3)) & 1]!++;
    const code = 35 + (place % 91);
    meanings[Math.floor(place / 91) * 128 + code + +(code > 91)] = byte;
  }
  // Typed, because this runs once, and before it is compiled.
  const bytes = new Uint8Array(text.length);
  let length = 0;
  for (let i = 0; i < text.length; ) {
    const code = text.charCodeAt(i++);
    bytes[length++] = meanings[code > 34 ? code : (34 - code) * 128 + text.charCodeAt(i++)]!;
  }
  return bytes.subarray(0, length);
}

/**
 * The wasm module: what it exports, how it is loaded, and the two views of its memory.
 *
 * Nothing is compiled before the first use: a worker's module scope may do little, and a page that
 * imports a gate may never make a call.
 */

import { TidegateError } from "./errors.js";

/** What `tidegate-wasm` exports; its Rust sources say what each function does. */
export interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer };
  numbers(): number;
  bytes(): number;
  open(high: number, low: number, now: number, queue: number): number;
  restore(high: number, low: number, now: number, length: number, away: number, queue: number): number;
  close(gate: number): void;
  follow(gate: number, now: number): number;
  poll(gate: number, now: number, requests: number, tokens: number): number;
  join(gate: number, call: number, now: number, deadline: number, requests: number, tokens: number, priority: number, turn: number): number;
  next(gate: number, now: number): number;
  given(): number;
  first(gate: number, now: number): number;
  cancel(gate: number, slot: number, turn: number): void;
  reason(): number;
  late(): number;
  why(gate: number, call: number, now: number, deadline: number, requests: number, tokens: number): number;
  learn(gate: number, permit: number, now: number): void;
  release(gate: number, permit: number): void;
  pause(gate: number, paused: boolean): void;
  peek(gate: number, now: number): number;
  retry(gate: number, call: number, now: number, deadline: number, requests: number, tokens: number): number;
  not_before(call: number): number;
  forget(call: number): void;
  answer(outcome: number, cooldown: number): void;
  status(status: number): void;
  header(name: number, both: number): void;
  worth(status: number, length: number, mayBeGraphql: boolean): number;
  body(length: number): void;
  read(clock: number): number;
  cooldown(): number;
  used(requests: number, tokens: number): void;
  interval(gate: number, limit: number, now: number): number;
  stats(gate: number): number;
  snapshot(gate: number, now: number): number;
}

/** The module instance, with its buffers. */
export interface Core extends Exports {
  /** A policy's row, and the counters. */
  row(): Float64Array;
  /** A header's name and value, or a record. */
  room(): Uint8Array;
}

/** Makes the instance on first use, and gives the same one ever after. */
export function lazily(instantiate: () => Exports): () => Core {
  let core: Core | undefined;
  return () => (core ??= dress(instantiate()));
}

/** Wasm that takes pages detaches the views of its memory, so they are made when they are needed. */
export function dress(exports: Exports): Core {
  return {
    ...exports,
    row: () => new Float64Array(exports.memory.buffer, exports.numbers(), 18),
    room: () => new Uint8Array(exports.memory.buffer, exports.bytes(), 4096),
  };
}

/** The exports of a compiled module, which imports nothing. */
export function instance(module: object): Exports {
  return new WebAssembly.Instance(module as WebAssembly.Module).exports as unknown as Exports;
}

/** Compiles a module that the build has packed. */
export function compile(packed: string, common: string): object {
  try {
    return new WebAssembly.Module(unpack(packed, common));
  } catch (error) {
    throw new TidegateError("COMPILE", `WebAssembly does not compile here (${String(error)}): where a policy lacks 'wasm-unsafe-eval', import tidegate/js`);
  }
}

/**
 * Reads the bytes that the build has written as a string: 91 printable characters stand for the 91
 * commonest bytes, which have a bit in `common`, and a `!` or a space before one for the rest. Gzip
 * sees whole bytes so, and makes it a fifth smaller than base 64.
 */
export function unpack(text: string, common: string): Uint8Array<ArrayBuffer> {
  const order: number[] = [];
  for (const wanted of [1, 0]) {
    for (let byte = 0; byte < 256; byte++) {
      if (((parseInt(common[byte >> 2]!, 16) >> (byte & 3)) & 1) === wanted) order.push(byte);
    }
  }
  const bytes = [];
  let ahead = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < 34) ahead = 91 * (34 - code);
    else {
      bytes.push(order[ahead + code - 35 - +(code > 92)]!);
      ahead = 0;
    }
  }
  return new Uint8Array(bytes);
}

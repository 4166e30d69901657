/** What a gate is asked and what it answers: its options, its events, and its methods. */

import { PolicyError } from "./errors.js";
import type { Cause } from "./lane.js";
import { among, type Policy } from "./policy.js";
import type { Outcome, Reply } from "./reply.js";
import type { Timers } from "./wait.js";

/** What a call costs: a number of requests, or requests and tokens. */
export type Cost = number | { requests?: number | undefined; tokens?: number | undefined };

/** What a key is made of. */
export interface Target {
  readonly url: string;
  readonly method: string;
}

/** What a gate is made with: all optional. */
export interface Options extends Policy {
  /** The calls of one key share a limit. @defaultValue the origin of the URL */
  key?: ((target: Target) => string) | undefined;
  /**
   * How many keys are remembered. The least recently used idle one is forgotten; where none is idle, calls
   * of further keys wait, and `tryAcquire` throws. @defaultValue 1000
   */
  keys?: number | undefined;
  /** How many calls may wait for a key. @defaultValue 10000 */
  queue?: number | undefined;
  /**
   * After a wait of so many milliseconds without a deadline a gate writes one warning to the console.
   * `Infinity` turns it off. @defaultValue 5000
   */
  warnAfter?: number | undefined;
  /** The `fetch` to wrap. @defaultValue the global one */
  fetch?(input: string | URL | Request, init?: RequestInit): Promise<Response>;
  /** Makes the jitter repeatable, for tests. @defaultValue from `crypto` */
  seed?: number | undefined;
  /** The clock in milliseconds, for tests: see `tidegate/test`. @defaultValue performance.now */
  now?: (() => number) | undefined;
  /** The timers, for tests: see `tidegate/test`. @defaultValue globalThis */
  timers?: Timers | undefined;
}

/** Options of a call. */
export interface CallOptions {
  /** The limit that it falls under. @defaultValue `""` for `run`, `wrap` and `tryAcquire`, and the option `key` of the gate for `fetch` */
  key?: string | undefined;
  /** What it costs. @defaultValue 1 */
  cost?: Cost | undefined;
  /** How many milliseconds it may take in all: waits, retries and, for `fetch`, the response's body. @defaultValue no limit */
  deadline?: number | undefined;
  /** Calls of a higher priority are sent first, from 0 to 7. @defaultValue 0 */
  priority?: number | undefined;
  /** Ends the call, whether it waits or is in flight. */
  signal?: AbortSignal | null | undefined;
  /**
   * What is tried again: `"throttled"` only what the server did not execute (429), `true` also what failed.
   * @defaultValue 429 and 503 in `run`; everything in `fetch` if the method is idempotent or the request
   * has an `Idempotency-Key`, else what the server throttled
   */
  retry?: boolean | "throttled" | undefined;
}

/** Options of a call that returns a `T`. */
export interface RunOptions<T> extends CallOptions {
  /**
   * The outcome, where neither a status nor an error tells it; `undefined` leaves it to the default. `fetch` passes
   * a clone of the response, and returns the response after this has settled.
   */
  outcome?: ((result: { value?: T; error?: unknown }) => Reply | undefined | PromiseLike<Reply | undefined>) | undefined;
  /** What the call cost in fact, for example the tokens that the response counts. `fetch` passes a clone, as above. */
  actualCost?: ((value: T) => Cost | undefined | PromiseLike<Cost | undefined>) | undefined;
}

/** Options of a call by `fetch`. */
export interface FetchOptions extends RunOptions<Response> {
  /**
   * When the call's place is free for another: at the end of the response's body, or at its headers. Long streams
   * want `"headers"` if the server does not count them as calls in flight. @defaultValue "body"
   */
  release?: "headers" | "body" | undefined;
}

/** The right to one call. Settle it; what is dropped unsettled teaches nothing. */
export interface Permit {
  /** Reports the outcome of the call; only the first report counts. */
  settle(reply?: Reply, actualCost?: Cost): void;
  /** As `settle("abandoned")`, if it was not settled. */
  [Symbol.dispose](): void;
}

/**
 * Why a call is not tried again: sending it twice is not safe (by its `method`, or its `body`, which
 * can be read once), another attempt cannot mend the `error`, its `attempts` are used up, its `deadline` comes
 * first, the `retryBudget` is spent, the `limit` has no room, the `queue` is full, or the server's quota is `exhausted`.
 */
export type Why = "method" | "body" | "error" | "attempts" | "deadline" | "retryBudget" | "limit" | "queue" | "exhausted";

/** What happened, by the name of the event. */
export interface Events {
  /** A call begins to wait, for at least `ms` milliseconds as far as is known. */
  wait: { key: string; cause: Cause; ms: number };
  /** An attempt is sent, after `waited` milliseconds in the queue. */
  sent: { key: string; attempt: number; waited: number };
  /** An attempt has its outcome, `ms` milliseconds after it was sent. */
  settled: { key: string; attempt: number; outcome: Outcome; status: number | undefined; ms: number };
  /** A server throttled a call (429) or is overloaded (503). */
  throttled: { key: string; outcome: Outcome; status: number | undefined; cooldown: number | undefined; attempt: number };
  /** A call will be tried again, in `ms` milliseconds at the earliest. */
  retry: { key: string; attempt: number; ms: number };
  /** A call that failed is not tried again, and why. */
  gaveUp: { key: string; attempt: number; why: Why };
}

/** The names of all events. */
export const EVENTS = ["wait", "sent", "settled", "throttled", "retry", "gaveUp"] as const satisfies readonly (keyof Events)[];

/** The counters in the core's order; the empty ones count how often it was asked. */
export const COUNTERS = [
  "admitted", "", "", "rejected", "ok", "throttled", "busy", "failed", "abandoned", "retries", "slowdowns", "speedups", "inFlight",
] as const;

/** What has been counted, over all keys or for one. */
export type Stats = Record<Exclude<(typeof COUNTERS)[number], ""> | "keys" | "waits" | "waiting", number> & {
  /** How many waits each cause has had. */
  causes: Record<Cause, number>;
  /** Milliseconds between two calls, by the law; 0 where nothing is kept apart. The largest of all keys. */
  interval: number;
};

/** How a key stands. */
export interface Peek {
  /** In how many milliseconds a call that came now could be sent at the earliest. */
  wait: number;
  /** What keeps it back; `"concurrency"` until a call ends, whenever that is. */
  cause: Cause | undefined;
  /** How many calls wait, and how many are in flight. */
  waiting: number;
  inFlight: number;
}

/** What has been learnt, for `JSON.stringify` or structured clone. */
export interface Snapshot {
  /** When it was made, in milliseconds since 1970. */
  readonly at: number;
  /** Each key with its record. */
  readonly keys: readonly (readonly [key: string, record: string])[];
}

/** The ways to make a call. */
export interface Caller {
  /** As the global `fetch`: paced, retried where that is safe, and following what servers say of their limits. */
  readonly fetch: (input: string | URL | Request, init?: RequestInit, options?: FetchOptions) => Promise<Response>;
  /** Runs any call when it may be sent. The signal that it gets, if it declares a parameter, is aborted when the call is. */
  readonly run: <T>(work: (signal: AbortSignal) => T | PromiseLike<T>, options?: RunOptions<T>) => Promise<T>;
  /** The same function, each call of which is a `run`. */
  readonly wrap: <A extends unknown[], T>(work: (...args: A) => T | PromiseLike<T>, options?: RunOptions<T>) => (...args: A) => Promise<T>;
  /** A permit, if a call may be sent now; else null. */
  readonly tryAcquire: (options?: Pick<CallOptions, "key" | "cost">) => Permit | null;
  /** The same gate with other defaults for its calls. */
  readonly with: (defaults: Omit<FetchOptions, "outcome" | "actualCost">) => Caller;
}

/** Paces calls, and learns from their responses. */
export interface Gate extends Caller {
  /** The counters, of all keys or of one. */
  readonly stats: (key?: string) => Stats;
  /** How a key stands; nothing is charged. @defaultValue the key of `run` */
  readonly peek: (key?: string) => Peek;
  /** Adds a listener; returns a function that removes it. */
  readonly on: <E extends keyof Events>(event: E, listener: (event: Events[E]) => void) => () => void;
  /** Follows another policy from now on. A law that stays the same keeps what it has learnt. */
  readonly setPolicy: (policy: Policy) => void;
  /** Sends nothing until `resume`; calls wait. */
  readonly pause: () => void;
  /** Goes on after `pause`. */
  readonly resume: () => void;
  /** Resolves when no call waits or is in flight. */
  readonly idle: () => Promise<void>;
  /** What has been learnt. */
  readonly snapshot: () => Snapshot;
  /** Goes on from a snapshot, for the keys that are idle. */
  readonly restore: (snapshot: Snapshot) => void;
  /** Frees what the gate holds; calls that wait are rejected as `Closed`. */
  readonly close: () => void;
  readonly [Symbol.dispose]: () => void;
}

declare global {
  // For programs whose `lib` lacks it.
  interface SymbolConstructor {
    readonly dispose: unique symbol;
    readonly asyncDispose: unique symbol;
  }
}

const POLICY = ["law", "requests", "tokens", "concurrency", "expiry", "maxCooldown", "backoff", "attempts", "elapsed", "retryBudget"];
const GATE = [...POLICY, "key", "keys", "queue", "warnAfter", "fetch", "seed", "now", "timers"];
const CALL = ["key", "cost", "deadline", "priority", "signal", "retry", "outcome", "actualCost", "release"];

/** Throws where a policy has an option that there is not. */
export function checkPolicy(policy: Policy): void {
  among(policy, POLICY, "of a policy");
}

/** Throws where an option of a gate is none, or cannot be. The policy's values are checked where they are written. */
export function checkGate(options: Options): void {
  among(options, GATE, "of a gate");
  const { keys, queue, warnAfter, seed, timers } = options;
  number("keys", keys, 1, 2 ** 24, true);
  number("queue", queue, 0, 0xffffffff, true);
  number("warnAfter", warnAfter, 0, Infinity);
  number("seed", seed, 0, 0xffffffff, true);
  for (const name of ["key", "fetch", "now"] as const) func(name, options[name]);
  if (timers) for (const name of ["setTimeout", "clearTimeout"] as const) func(`timers.${name}`, timers[name] ?? null);
}

/** Throws where an option of a call is none, or cannot be. */
export function checkCall(options: CallOptions & { outcome?: unknown; actualCost?: unknown; release?: unknown }): void {
  among(options, CALL, "of a call");
  const { key, cost, deadline, priority, signal, retry, release } = options;
  if (key !== undefined && typeof key !== "string") throw wrong("key", key, "a string");
  checkCost("cost", cost);
  number("deadline", deadline, 0, Infinity);
  number("priority", priority, 0, 7, true);
  if (signal && typeof signal.addEventListener !== "function") throw wrong("signal", signal, "an AbortSignal");
  if (retry !== undefined && retry !== "throttled" && typeof retry !== "boolean") throw wrong("retry", retry, 'true, false or "throttled"');
  if (release !== undefined && release !== "headers" && release !== "body") throw wrong("release", release, '"headers" or "body"');
  func("outcome", options.outcome);
  func("actualCost", options.actualCost);
}

/** Throws where a cost cannot be. */
export function checkCost(name: string, cost: Cost | undefined): void {
  const isParts = typeof cost === "object" && cost !== null;
  number(isParts ? `${name}.requests` : name, isParts ? cost.requests : cost, 0, 0xffffffff, true);
  if (isParts) number(`${name}.tokens`, cost.tokens, 0, 0xffffffff, true);
}

function number(name: string, value: unknown, least: number, most: number, whole = false): void {
  if (value === undefined || (typeof value === "number" && value >= least && value <= most && !(whole && value % 1))) return;
  throw wrong(name, value, `a ${whole ? "whole " : ""}number from ${least} to ${most}`);
}

function func(name: string, value: unknown): void {
  if (value !== undefined && typeof value !== "function") throw wrong(name, value, "a function");
}

function wrong(name: string, value: unknown, right: string): PolicyError {
  return new PolicyError(`${name} is ${String(value)}; it is ${right}`);
}

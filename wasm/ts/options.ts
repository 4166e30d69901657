/** The public types of a gate: its options, events and methods. */

import { PolicyError } from "./errors.js";
import type { Parts } from "./gate.js";
import type { Cause } from "./lane.js";
import type { Few, Law } from "./law.js";
import { among, told, type Policy } from "./policy.js";
import type { Outcome, Reply } from "./reply.js";
import type { Timers } from "./wait.js";

/**
 * The cost of a call: a number of requests, or requests and tokens. Tokens can be any other unit that a server counts,
 * such as GraphQL points. If a call states no tokens and the server reports costs, it costs the mean of earlier calls.
 * `fetch` reads these reports in short JSON bodies, and at the end of streams of server-sent events.
 */
export type Cost = number | { requests?: number | undefined; tokens?: number | undefined };

/** The limit that a call counts against. With `tidegate/full`, also several, such as those of an account and a model, the most general first. */
export type Key = string | readonly string[];

/** The request from which the option `key` derives a key. */
export interface Target {
  readonly url: string;
  readonly method: string;
}

/** Options of a gate. All are optional. `K` is the type of a key, and `L` are the laws of the entry. */
export interface Options<K extends Key = string, L extends Law = Few> extends Policy<L> {
  /** Returns the key of a request. Calls with the same key share a limit. @defaultValue the origin of the URL */
  key?: ((target: Target) => K) | undefined;
  /**
   * How many keys to keep. Beyond that, the least recently used idle key is forgotten. If none is idle, calls with a
   * new key wait, and `tryAcquire` throws. @defaultValue 1000
   */
  keys?: number | undefined;
  /** How many calls may wait for each key. Further calls are rejected with `QueueFull`. @defaultValue 10000 */
  queue?: number | undefined;
  /**
   * When a call without a deadline has waited this long, in milliseconds, the gate writes one warning to the console.
   * `Infinity` turns the warning off. @defaultValue 5000
   */
  warnAfter?: number | undefined;
  /** The `fetch` to wrap. @defaultValue the global one */
  fetch?(input: string | URL | Request, init?: RequestInit): Promise<Response>;
  /** The seed of the jitter, for tests: equal seeds produce equal jitter. @defaultValue random */
  seed?: number | undefined;
  /** The clock in milliseconds, for tests: see `tidegate/test`. @defaultValue performance.now */
  now?: (() => number) | undefined;
  /** The timers, for tests: see `tidegate/test`. @defaultValue globalThis */
  timers?: Timers | undefined;
}

/** Options of a call. */
export interface CallOptions<K extends Key = string> {
  /** The limit that the call counts against. @defaultValue `""` for `run`, `wrap` and `tryAcquire`, and the option `key` of the gate for `fetch` */
  key?: K | undefined;
  /** The cost of the call. @defaultValue 1 */
  cost?: Cost | undefined;
  /** Time limit for the whole call, in milliseconds: waits, retries and, for `fetch`, the response body. @defaultValue no limit */
  deadline?: number | undefined;
  /**
   * Time limit for one attempt, in milliseconds; for `fetch`, until the response headers. An attempt that takes longer
   * is aborted and counts as failed, so `run` repeats it only with `retry: true`. @defaultValue no limit
   */
  attemptTimeout?: number | undefined;
  /** From 0 to 7. Calls with a higher priority are sent first. @defaultValue 0 */
  priority?: number | undefined;
  /** Aborts the call, whether it waits or is in flight. */
  signal?: AbortSignal | null | undefined;
  /**
   * Which calls are retried. `"throttled"`: only calls that the server did not execute (429, a refused HTTP/2 stream).
   * `true`: also calls that failed. `false`: none. @defaultValue for `run`, 429 and 503; for `fetch`, `true` if the
   * method is idempotent or the request has an `Idempotency-Key`, else `"throttled"`; for both, also responses with
   * `x-should-retry: true`
   */
  retry?: boolean | "throttled" | undefined;
}

/** Options of a call that returns a `T`. */
export interface RunOptions<T, K extends Key = string> extends CallOptions<K> {
  /**
   * Returns the outcome of an attempt, if its status or error does not show it; `undefined` keeps the default. `fetch`
   * passes a clone of the response, and returns the response once this function has settled.
   */
  outcome?: ((result: { value?: T; error?: unknown }) => Reply | undefined | PromiseLike<Reply | undefined>) | undefined;
  /** Returns the actual cost of the call, for example the tokens that the response reports. `fetch` passes a clone, as above. */
  actualCost?: ((value: T) => Cost | undefined | PromiseLike<Cost | undefined>) | undefined;
}

/** Options of `fetch`. */
export interface FetchOptions<K extends Key = string> extends RunOptions<Response, K> {
  /**
   * When the call stops counting as in flight: at the end of the response body, or at the headers. Use `"headers"` for
   * long streams that the server does not count as calls in flight. Tokens that they report at their end are then not
   * counted. @defaultValue "body"
   */
  release?: "headers" | "body" | undefined;
}

/** The right to one call. Settle it after the call: the gate learns nothing from a permit that is dropped. */
export interface Permit {
  /** Reports the outcome of the call; only the first report counts. */
  settle(reply?: Reply, actualCost?: Cost): void;
  /** The same as `settle("abandoned")`, if the permit was not settled. */
  [Symbol.dispose](): void;
}

/**
 * Why a call is not retried:
 *
 * - `"method"`: the method is not idempotent, so the server may have executed the call
 * - `"body"`: the body is a stream, which can be read only once
 * - `"error"`: another attempt would fail in the same way
 * - `"attempts"`: all attempts are used
 * - `"deadline"`: the next attempt would be later than the deadline
 * - `"retryBudget"`: the retry budget is spent
 * - `"limit"`: the limit has no room for the call
 * - `"queue"`: the queue is full
 * - `"exhausted"`: the server's quota is used up or unpaid
 */
export type Why = "method" | "body" | "error" | "attempts" | "deadline" | "retryBudget" | "limit" | "queue" | "exhausted";

/** The events of a gate, by name. `key` is the last key of the call; of `wait`, the one that delays it. */
export interface Events {
  /** A call begins to wait. `ms` is the shortest wait that is known now, in milliseconds. */
  wait: { key: string; cause: Cause; ms: number };
  /** An attempt is sent, after `waited` milliseconds in the queue. */
  sent: { key: string; attempt: number; waited: number };
  /**
   * The outcome of an attempt is known, `ms` milliseconds after it was sent. For a stream of server-sent events, this
   * is at the first event with content, because an error before that counts as `"busy"`.
   */
  settled: { key: string; attempt: number; outcome: Outcome; status: number | undefined; ms: number };
  /** A server throttled a call (429) or is overloaded (503). */
  throttled: { key: string; outcome: Outcome; status: number | undefined; cooldown: number | undefined; attempt: number };
  /** A call will be retried, in `ms` milliseconds at the earliest. */
  retry: { key: string; attempt: number; ms: number };
  /** A call that failed is not retried. */
  gaveUp: { key: string; attempt: number; why: Why };
}

/** The names of all events. */
export const EVENTS = ["wait", "sent", "settled", "throttled", "retry", "gaveUp"] as const satisfies readonly (keyof Events)[];

/** The counters in the core's order. Those without a name are not public. */
export const COUNTERS = [
  "admitted", "", "", "rejected", "ok", "throttled", "busy", "failed", "abandoned", "retries", "slowdowns", "speedups", "inFlight",
] as const;

/** Counters of all keys or of one. A call with several keys counts once for each. A permit that it gave up counts as abandoned. */
export type Stats = Record<Exclude<(typeof COUNTERS)[number], ""> | "keys" | "waits" | "waiting", number> & {
  /** How many waits each cause had. */
  causes: Record<Cause, number>;
  /** The law's time between two calls in milliseconds, or 0 if it sets no rate. The longest of all keys. */
  interval: number;
};

/** The current state of a key. */
export interface Peek {
  /** The shortest time that a new call would wait, in milliseconds. */
  wait: number;
  /** Why it would wait. `"concurrency"`: until a slot is free, which may be later than `wait`. */
  cause: Cause | undefined;
  /** How many calls wait. */
  waiting: number;
  /** How many calls are in flight. */
  inFlight: number;
}

/** The ways to make a call. */
export interface Caller<K extends Key = string> {
  /** The same as the global `fetch`, with pacing and retries. It follows the limits that servers report. */
  readonly fetch: (input: string | URL | Request, init?: RequestInit, options?: FetchOptions<K>) => Promise<Response>;
  /** Calls `work` when a call may be sent, and retries it. The signal is aborted when the call is; `work` receives it only if it declares a parameter. */
  readonly run: <T>(work: (signal: AbortSignal) => T | PromiseLike<T>, options?: RunOptions<T, K>) => Promise<T>;
  /** Returns a function that calls `work` with `run`. */
  readonly wrap: <A extends unknown[], T>(work: (...args: A) => T | PromiseLike<T>, options?: RunOptions<T, K>) => (...args: A) => Promise<T>;
  /** Returns a permit if a call may be sent now, else null. */
  readonly tryAcquire: (options?: Pick<CallOptions<K>, "key" | "cost">) => Permit | null;
  /** Returns the same gate with other default options for its calls. */
  readonly with: (defaults: Omit<FetchOptions<K>, "outcome" | "actualCost">) => Caller<K>;
}

/** Counters, and what a new call would wait for. */
export interface Counts<K extends Key = string> {
  /** Returns the counters of all keys, or of one. */
  readonly stats: (key?: string) => Stats;
  /** Returns the state of a key. It charges nothing. @defaultValue the key of `run` */
  readonly peek: (key?: K) => Peek;
  /**
   * Returns the key whose next call can be sent first, for example one of several credentials. It charges nothing. If
   * two keys are equal, it returns the one with fewer calls, then the earlier one.
   */
  readonly soonest: <O extends K>(keys: readonly O[]) => O;
}

/** A gate without counters. */
export interface Base<K extends Key = string, L extends Law = Few> extends Caller<K> {
  /** Adds a listener; returns a function that removes it. */
  readonly on: <E extends keyof Events>(event: E, listener: (event: Events[E]) => void) => () => void;
  /**
   * Replaces the policy for all keys. If the law stays the same, it keeps what it has learned. A cooldown that is
   * longer than the new `maxCooldown` is shortened to it.
   */
  readonly setPolicy: (policy: Policy<L>) => void;
  /**
   * Ends the cooldowns of all keys, or of one, and forgets what was learned, for example after you buy more quota or a
   * server is repaired. Waiting calls are sent as soon as the policy allows. `requests`, `tokens`, `concurrency`, the
   * retry budget and the counters are kept.
   */
  readonly reset: (key?: string) => void;
  /** Sends no calls until `resume`. New calls wait. */
  readonly pause: () => void;
  /** Sends calls again after `pause`. */
  readonly resume: () => void;
  /** Resolves when no call waits or is in flight. */
  readonly idle: () => Promise<void>;
  /** Closes the gate. Waiting calls are rejected with `Closed`. */
  readonly close: () => void;
  readonly [Symbol.dispose]: () => void;
}

/** Decides when calls are sent, and learns from their responses. */
export interface Gate<K extends Key = string, L extends Law = Few> extends Base<K, L>, Counts<K> {}

declare global {
  // For programs whose `lib` does not declare it.
  interface SymbolConstructor {
    readonly dispose: unique symbol;
    readonly asyncDispose: unique symbol;
  }
}

const POLICY = ["law", "requests", "tokens", "concurrency", "gap", "expiry", "maxCooldown", "backoff", "attempts", "elapsed", "retryBudget", "tolerance"];
const GATE = [...POLICY, "key", "keys", "queue", "warnAfter", "fetch", "seed", "now", "timers"];
const CALL = ["key", "cost", "deadline", "attemptTimeout", "priority", "signal", "retry", "outcome", "actualCost", "release"];

/** Throws if a policy has an unknown option. */
export function checkPolicy(policy: Policy<Law>, lacks?: readonly string[]): void {
  among(policy, POLICY, "of a policy", [], lacks);
}

/** Throws if an option of a gate is unknown or invalid. `write` checks the policy's values. */
export function checkGate(options: Options<Key, Law>, lacks?: readonly string[]): void {
  among(options, GATE, "of a gate", CALL, lacks);
  const { keys, queue, warnAfter, seed, timers } = options;
  number("keys", keys, 1, 2 ** 24, true);
  number("queue", queue, 0, 0xffffffff, true);
  number("warnAfter", warnAfter, 0, Infinity);
  number("seed", seed, 0, 0xffffffff, true);
  for (const name of ["key", "fetch", "now"] as const) if (options[name] !== undefined) func(name, options[name]);
  if (timers) for (const name of ["setTimeout", "clearTimeout"] as const) func(`timers.${name}`, timers[name]);
}

/** Throws if an option of a call is unknown or invalid. */
export function checkCall(options: CallOptions<Key> & { outcome?: unknown; actualCost?: unknown; release?: unknown }, { costs, lacks }: Pick<Parts, "costs" | "lacks">): void {
  among(options, CALL, "of a call", [], lacks);
  const { key, priority, signal, retry, release } = options;
  if (key !== undefined && !Array.isArray(key)) checkKey(key);
  costs?.check("cost", options.cost);
  for (const name of ["deadline", "attemptTimeout"] as const) number(name, options[name], 0, Infinity);
  number("priority", priority, 0, 7, true);
  if (signal && typeof signal.addEventListener !== "function") throw wrong("signal", signal, "an AbortSignal");
  if (retry !== undefined && retry !== "throttled" && typeof retry !== "boolean") throw wrong("retry", retry, 'true, false or "throttled"');
  if (release !== undefined && release !== "headers" && release !== "body") throw wrong("release", release, '"headers" or "body"');
  for (const name of ["outcome", "actualCost"] as const) if (options[name] !== undefined) func(name, options[name]);
}

/** Throws if a key is not one string. */
export function checkKey(key: unknown): asserts key is string {
  if (typeof key !== "string") throw wrong("key", key, "a string, or several in tidegate/full");
}

/** Throws if a value is not a number of this range. */
export function number(name: string, value: unknown, least: number, most: number, whole = false): void {
  if (value === undefined || (typeof value === "number" && value >= least && value <= most && !(whole && value % 1))) return;
  throw wrong(name, value, `a ${whole ? "whole " : ""}number from ${least} to ${most}`);
}

/** Throws if a value is not a function. */
export function func(name: string, value: unknown): void {
  if (typeof value !== "function") throw wrong(name, value, "a function");
}

function wrong(name: string, value: unknown, right: string): PolicyError {
  return new PolicyError(`${name} is ${told(value)}; it must be ${right}`);
}

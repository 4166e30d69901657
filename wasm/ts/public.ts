/** Exports of every entry with gates, besides `tidegate`. */

export { Closed, DeadlineExceeded, errorOf, PolicyError, QueueFull, Rejected, TidegateError } from "./errors.js";
export type { Code } from "./errors.js";
export type {
  Caller, CallOptions, Cost, Events, FetchOptions, Gate, Key, Options, Peek, Permit, RunOptions, Stats, Target, Why,
} from "./options.js";
export type { Cause } from "./lane.js";
export { LAWS } from "./law.js";
export type { Law } from "./law.js";
export type { Policy, Quota } from "./policy.js";
export type { Outcome, Reply, ResponseLike } from "./reply.js";
export type { Timers } from "./wait.js";

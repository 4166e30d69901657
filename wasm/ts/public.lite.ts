/** What `tidegate/lite` exports besides `tidegate`. */

export { Closed, DeadlineExceeded, errorOf, PolicyError, QueueFull, Rejected, TidegateError } from "./errors.js";
export type { Code } from "./errors.js";
export type { Caller, CallOptions, FetchOptions, Gate, Options, Permit, Policy, RunOptions } from "./fewer.js";
export type { Events, Target, Why } from "./options.js";
export type { Cause } from "./lane.js";
export type { Quota } from "./policy.js";
export type { Outcome, Reply, ResponseLike } from "./reply.js";
export type { Timers } from "./wait.js";

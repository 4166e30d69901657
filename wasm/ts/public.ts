/** What every entry with gates exports besides `tidegate`. */

export { Closed, Late, PolicyError, QueueFull, Refused, TidegateError } from "./errors.js";
export type { Code } from "./errors.js";
export type { CallOptions, Cost, Events, Gate, Options, Permit, RunOptions, Snapshot, Stats, Target, Why } from "./gate.js";
export type { Cause } from "./lane.js";
export { LAWS } from "./law.js";
export type { Law } from "./law.js";
export type { Policy, Quota } from "./policy.js";
export type { Outcome, Reply, ResponseLike } from "./reply.js";

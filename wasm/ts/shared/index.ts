/** Exports of an entry with shared budgets, besides its `tidegate`. */

export { Closed, DeadlineExceeded, PolicyError, QueueFull, Rejected, TidegateError } from "../errors.js";
export type { Code } from "../errors.js";
export type { Peek, Permit, Target } from "../options.js";
export type { Cause } from "../lane.js";
export type { Law } from "../law.js";
export type { Quota } from "../policy.js";
export type { Outcome, Reply, ResponseLike } from "../reply.js";
export type { SharedCallOptions, SharedEvents, SharedGate, SharedOptions, SharedRunOptions, SharedStats } from "./client.js";
export type { BudgetStats } from "./budgets.js";
export type { SharedPolicy } from "./policy.js";

/** Exports of an entry with shared budgets, besides its `tidegate`. */

export type { SharedCallOptions, SharedEvents, SharedGate, SharedOptions, SharedRunOptions, SharedStats } from "./client.js";
export type { DeskStats } from "./desk.js";
export type { SharedPolicy } from "./policy.js";

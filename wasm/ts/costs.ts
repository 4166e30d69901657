/** What calls cost, in requests and in tokens. */

import { number, type Cost } from "./options.js";
import { among } from "./policy.js";

/** Reads costs. */
export interface Costs {
  requests(cost: Cost | undefined): number;
  /** NaN if they are not stated. */
  tokens(cost: Cost | undefined): number;
  /** Throws if a cost is invalid. */
  check(name: string, cost: Cost | undefined): void;
}

export const costs: Costs = {
  requests: (cost = 1) => (typeof cost === "object" ? (cost.requests ?? 1) : cost),
  tokens: (cost = 1) => (typeof cost === "object" ? (cost.tokens ?? NaN) : NaN),
  check(name, cost) {
    const isParts = typeof cost === "object" && cost !== null;
    if (isParts) among(cost, ["requests", "tokens"], `of ${name}`);
    number(isParts ? `${name}.requests` : name, isParts ? cost.requests : cost, 0, 0xffffffff, true);
    if (isParts) number(`${name}.tokens`, cost.tokens, 0, 0xffffffff, true);
  },
};

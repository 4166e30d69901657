/** The wasm module of shared budgets: its exports besides those of every gate's core. */

import { dress, type Core, type Exports } from "../core.js";

/** Exports for members. The Rust sources document each function. */
export interface LeaseCore extends Core {
  request_at(member: number): number;
  request(member: number, waiting: number, now: number): number;
  leave(member: number, now: number): number;
  hear(member: number, length: number, waiting: number, now: number): number;
  miss(member: number, now: number): void;
  available_leases(member: number): number;
  without(member: number): number;
  is_alone(member: number): number;
}

/** Exports for budgets, and for the policy of a program, of which an instance has one. */
export interface BudgetCore extends Core {
  budget_open(high: number, low: number, now: number, heartbeat: number, length: number, away: number, ended: boolean): number;
  budget_close(budget: number): void;
  budget_follow(budget: number, now: number, heartbeat: number): number;
  budget_answer(budget: number, length: number, now: number): number;
  budget_ended(budget: number, length: number, now: number): void;
  budget_snapshot(budget: number, now: number): number;
  budget_unkept(budget: number): void;
  budget_stats(budget: number, now: number): void;
  standing_open(heartbeat: number): number;
  standing_ask(now: number): void;
  standing_start(today: number): number;
  standing_hold(start: number): void;
  standing_lost(now: number): void;
  standing_has_joined(now: number): number;
  standing_meet(now: number, today: number, start: number, digest: number): number;
}

/** Creates an instance of the module. (A shared budget counts calls, so there are no costs to correct or to read.) */
export function made(exports: Exports): LeaseCore & BudgetCore {
  const core = dress(exports) as LeaseCore & BudgetCore;
  // A member's number is its name: two equal ones would mix up their requests.
  const open: LeaseCore["open"] = (_high, _low, now, queue) => {
    const [high, low] = crypto.getRandomValues(new Uint32Array(2));
    return core.open(high!, low!, now, queue);
  };
  return { ...core, open, used() {}, streams: () => 0 };
}

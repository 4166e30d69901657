/** The wasm module of shared budgets: what it exports besides what every gate's core does. */

import { dress, type Core, type Exports } from "../core.js";

/** What calls need of the module; its Rust sources say what each function does. */
export interface LeaseCore extends Core {
  request_at(member: number): number;
  request(member: number, waiting: number, now: number): number;
  leave(member: number, now: number): number;
  hear(member: number, length: number, waiting: number, now: number): number;
  miss(member: number, now: number): void;
  in_hand(member: number): number;
  without(member: number): number;
  is_alone(member: number): number;
}

/** What a budget needs of the module: an instance has one. */
export interface BudgetCore extends Core {
  budget_open(high: number, low: number, now: number, heartbeat: number): number;
  budget_restore(high: number, low: number, now: number, heartbeat: number, length: number, away: number, ended: boolean): number;
  budget_follow(now: number, heartbeat: number): number;
  budget_answer(length: number, now: number): number;
  budget_snapshot(now: number): number;
  budget_unkept(): void;
  budget_stats(now: number): void;
}

/**
 * A new instance of the module. (A shared budget counts calls, so there is nothing to correct.)
 */
export function made(exports: Exports): LeaseCore & BudgetCore {
  const core = dress(exports) as LeaseCore & BudgetCore;
  // A member's number is its name: two with the same one would take each other's requests for their own.
  const open: LeaseCore["open"] = (_high, _low, now, queue) => {
    const [high, low] = crypto.getRandomValues(new Uint32Array(2));
    return core.open(high!, low!, now, queue);
  };
  return { ...core, open, used() {} };
}

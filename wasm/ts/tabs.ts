/**
 * One budget for the tabs of one browser that show pages of one origin.
 *
 * One tab holds the budgets, and the others lease from it over a BroadcastChannel. Which one it is, a Web Lock
 * decides: when the tab is closed, discarded or frozen, another one goes on from what it has told all of them.
 */

import { compile, instance } from "./core.js";
import { PumpedLane } from "./pumped.js";
import { sharer, type SharedGate, type SharedOptions } from "./shared/client.js";
import type { LeasedLane } from "./shared/lane.js";
import { writeShared, type SharedPolicy } from "./shared/policy.js";
import type { TabStats } from "./tabs/budgets.js";
import { Post } from "./tabs/post.js";
import { Records } from "./tabs/records.js";
import { timers } from "./tabs/timers.js";
import { common, packed } from "#packed/shared";

/** What a shared gate is made with: whom it shares with, and what the budget of each key keeps to. */
export interface TabOptions extends SharedOptions, SharedPolicy {
  /** Tabs whose gates have the same name share. A channel, a lock and an item of `localStorage` have it, behind `tidegate:`. @defaultValue "default" */
  name?: string;
  /** Makes the jitter of a budget that this tab holds repeatable, for tests. @defaultValue from `crypto` */
  seed?: number;
}

/** A gate that shares the budget of each key with the other tabs. */
export interface TabGate extends SharedGate {
  /** What the budget of a key has counted, where this is the tab that holds it. @defaultValue the key of `run` */
  readonly budget: (key?: string) => TabStats | undefined;
}

let module: object | undefined;
const load = () => instance((module ??= compile(packed, common)));
const share = sharer(load, PumpedLane, () => {});

/** Makes a gate that shares the budget of each key with all tabs of the origin that use the same `name`. Make one for the page. */
export function tidegate({ name = "default", law, requests, maxCooldown, concurrency, expiry, heartbeat, ...options }: TabOptions = {}): TabGate {
  const policy = { law, requests, maxCooldown, concurrency, expiry, heartbeat };
  writeShared(new Float64Array(18), policy);
  const { seed, now } = options;
  const lanes = new Set<LeasedLane>();
  const all = `tidegate:${name}`;
  const post = new Post({ policy, records: new Records(all), load, seed, now }, all, () => lanes.forEach((lane) => lane.rest()));
  const gate = share(post.carry, { ...options, timers }, lanes);
  const close = () => {
    gate.close();
    post.close();
  };
  return { ...gate, budget: (key = "") => post.budget(key), close, [Symbol.dispose]: close };
}

export { Closed, DeadlineExceeded, PolicyError, QueueFull, Rejected, TidegateError } from "./errors.js";
export type { Code } from "./errors.js";
export type { Permit, Target } from "./options.js";
export type { Cause } from "./lane.js";
export type { Law } from "./law.js";
export type { Quota } from "./policy.js";
export type { Outcome, Reply, ResponseLike } from "./reply.js";
export type { TabStats } from "./tabs/budgets.js";
export type * from "./shared/index.js";

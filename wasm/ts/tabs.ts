/**
 * One budget for the tabs of one browser that show pages of one origin.
 *
 * One tab holds the budgets, and the others lease from it over a BroadcastChannel. A Web Lock
 * decides which one it is. When that tab is closed, discarded or frozen, another one continues from
 * its last messages.
 */

import type { SharedGate } from "./shared/client.js";
import { held, type HeldOptions } from "./shared/held.js";
import type { TabStats } from "./tabs/budgets.js";
import { Post } from "./tabs/post.js";
import { Records } from "./tabs/records.js";
import { timers } from "./tabs/timers.js";

/** Options of a shared gate: which tabs share, and the policy of each key's budget. */
export interface TabOptions extends HeldOptions {
  /**
   * Tabs whose gates have the same name share. It is part of the names of a channel, a lock and an
   * item of `localStorage`, after `tidegate:`. @defaultValue "default"
   */
  name?: string;
}

/** A gate that shares the budget of each key with the other tabs. */
export interface TabGate extends SharedGate {
  /** Returns the counters of a key's budget if this tab holds it, else `undefined`. @defaultValue the key of `run` */
  readonly budget: (key?: string) => TabStats | undefined;
}

/**
 * Creates a gate that shares the budget of each key with all tabs of the origin that use the same
 * `name`. Create one for the page.
 */
export function tidegate({ name = "default", ...options }: TabOptions = {}): TabGate {
  const all = `tidegate:${name}`;
  return held({ ...options, timers }, (desks, rest) => new Post({ records: new Records(all), ...desks }, all, rest));
}

export type { TabStats } from "./tabs/budgets.js";
export * from "./shared/index.js";

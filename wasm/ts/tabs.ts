/**
 * One budget for the tabs of one browser that show pages of one origin.
 *
 * One tab holds the budgets, and the others lease from it over a BroadcastChannel. A Web Lock
 * decides which one it is. When that tab is closed, discarded or frozen, another one continues from
 * its last messages.
 */

import { held, type HeldGate, type HeldOptions } from "./shared/held.js";
import { Post } from "./tabs/post.js";
import { timers } from "./tabs/timers.js";

/** Options of a shared gate: which tabs share, and the policy of each key's budget. */
export interface TabOptions extends HeldOptions {
  /**
   * Tabs whose gates have the same name share. It is part of the names of a channel, a lock and an
   * item of `localStorage`, after `tidegate:`. @defaultValue "default"
   */
  name?: string;
}

/**
 * Creates a gate that shares the budget of each key with all tabs of the origin that use the same
 * `name`. Create one for the page.
 */
export function tidegate({ name = "default", ...options }: TabOptions = {}): HeldGate {
  const all = `tidegate:${name}`;
  return held({ ...options, timers }, (budgets, standing, rest) => new Post(all, budgets, standing, rest));
}

export type { HeldGate } from "./shared/held.js";
export * from "./shared/index.js";

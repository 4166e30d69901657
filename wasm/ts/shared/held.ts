/** The gate of a program that leases calls, and holds budgets itself if no other program does. */

import { compile, instance, permitted } from "../core.js";
import type { Options } from "../options.js";
import { PumpedLane } from "../pumped.js";
import { Budgets, type BudgetStats } from "./budgets.js";
import type { Carrier } from "./carrier.js";
import { sharer, type SharedGate, type SharedOptions } from "./client.js";
import { made, type BudgetCore } from "./core.js";
import type { LeasedLane } from "./lane.js";
import { writeShared, type SharedPolicy } from "./policy.js";
import { Standing } from "./standing.js";
import { decoded, encoded } from "./text.js";
import { common, packed } from "#packed/shared";

/** Options of such a gate: the policy of each key's budget. */
export interface HeldOptions extends SharedOptions, SharedPolicy {}

/** Carries requests to the holder of each budget, which may be this program. */
interface Post {
  carry(key: string, request: Uint8Array<ArrayBuffer>): ReturnType<Carrier>;
  /** Notices whether this program has lost a seat. */
  look?(): void;
  /** Hands over the budgets that this program holds, and ends requests that were not answered. */
  close(): void | Promise<void>;
}

/** A gate that shares the budget of each key with others, one of which holds it. */
export interface HeldGate extends SharedGate {
  /** Returns the counters of a key's budget if this program holds it, else `undefined`. @defaultValue the key of `run` */
  readonly budget: (key?: string) => BudgetStats | undefined;
  /** Returns all leases, and hands over the budgets that this program holds. */
  readonly close: () => Promise<void>;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
}

/** The longest time that closing waits for the last requests, and then for the carrier, ms. */
export const PATIENCE = 1_000;

let module: object | undefined;
const load = () => permitted(() => instance((module ??= compile(packed, common))));
const share = sharer(load, PumpedLane, () => {});

/** Creates a gate, with the post that `open` creates. `open` also gets a function that makes all members rest. */
export function held(
  { law, tolerance, requests, maxCooldown, concurrency, expiry, heartbeat, ...options }: HeldOptions & Pick<Options, "timers">,
  open: (budgets: Budgets, standing: Standing, rest: () => void) => Post,
): HeldGate {
  const policy = { law, tolerance, requests, maxCooldown, concurrency, expiry, heartbeat };
  writeShared([], policy);
  const lanes = new Set<LeasedLane>();
  let desks: BudgetCore | undefined;
  const core = () => (desks ??= made(load()));
  const standing = new Standing(policy, core);
  const budgets = new Budgets(policy, core, options.now, options.keys ?? 1_000);
  const post = open(budgets, standing, () => lanes.forEach((lane) => lane.rest()));
  const sending = new Set<Promise<unknown>>();
  const carry: Carrier = async (key, request, tell) => {
    standing.ask(tell);
    const sent = post.carry(carried(key), request);
    sending.add(sent);
    return sent.finally(() => sending.delete(sent));
  };
  const gate = share(carry, options, lanes);
  const end = async () => {
    gate.close();
    await within(PATIENCE, Promise.allSettled(sending)).catch(() => {});
    await post.close();
  };
  let ended: Promise<void> | undefined;
  const close = () => (ended ??= end());
  const budget: HeldGate["budget"] = (key = "") => {
    post.look?.();
    return budgets.stats(carried(key));
  };
  return { ...gate, budget, close, [Symbol.dispose]: close, [Symbol.asyncDispose]: close };
}

/** The key as all carriers transport it: in UTF-8. */
const carried = (key: string) => decoded(encoded(key));

/** The same promise with a time limit in milliseconds, after which it fails with `why`. */
export async function within<T>(ms: number, work: Promise<T>, why?: () => unknown): Promise<T> {
  let timer;
  const late = new Promise<never>((_, fail) => {
    timer = setTimeout(() => fail(why?.()), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

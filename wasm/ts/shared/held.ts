/** The gate of a program that leases calls, and holds budgets itself if no other program does. */

import { compile, instance, type Exports } from "../core.js";
import type { Options } from "../options.js";
import { PumpedLane } from "../pumped.js";
import type { Carrier } from "./carrier.js";
import { sharer, type SharedOptions } from "./client.js";
import type { DeskOptions } from "./desk.js";
import type { LeasedLane } from "./lane.js";
import { writeShared, type SharedPolicy } from "./policy.js";
import { Standing } from "./standing.js";
import { common, packed } from "#packed/shared";

/** Options of such a gate: the policy of each key's budget. */
export interface HeldOptions extends SharedOptions, SharedPolicy {
  /** The seed of the jitter of budgets that this program holds, for tests. @defaultValue random */
  seed?: number;
}

/** What a holder needs for its desks. */
export interface Desks extends Pick<DeskOptions, "seed" | "now"> {
  readonly policy: SharedPolicy;
  readonly standing: Standing;
  /** Creates an instance of the module for one desk. */
  readonly load: () => Exports;
}

/** Carries requests to the holder of each budget, which may be this program. */
interface Post<Stats, Ended> {
  carry(...request: Parameters<Carrier>): ReturnType<Carrier>;
  /** The counters of a key's budget, if this program holds it. */
  budget(key: string): Stats | undefined;
  /** Hands over the budgets that this program holds. */
  close(): Ended;
}

let module: object | undefined;
const load = () => instance((module ??= compile(packed, common)));
const share = sharer(load, PumpedLane, () => {});

/** Creates a gate, with the post that `open` creates. `open` also gets a function that makes all members rest. */
export function held<Stats, Ended>(
  { law, tolerance, requests, maxCooldown, concurrency, expiry, heartbeat, ...options }: HeldOptions & Pick<Options, "timers">,
  open: (desks: Desks, rest: () => void) => Post<Stats, Ended>,
) {
  const policy = { law, tolerance, requests, maxCooldown, concurrency, expiry, heartbeat };
  writeShared([], policy);
  const { seed, now } = options;
  const lanes = new Set<LeasedLane>();
  const standing = new Standing(policy, load);
  const post = open({ policy, standing, load, seed, now }, () => lanes.forEach((lane) => lane.rest()));
  const carry: Carrier = (key, request, tell) => {
    standing.ask(tell);
    return post.carry(key, request, tell);
  };
  const gate = share(carry, options, lanes);
  let ended: Ended | undefined;
  const close = () => {
    gate.close();
    return (ended ??= post.close());
  };
  return { ...gate, budget: (key = "") => post.budget(key), close, [Symbol.dispose]: close };
}

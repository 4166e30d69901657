/** The gate of a process that shares its budgets: calls are sent with leases that were leased. */

import type { Exports } from "../core.js";
import { PolicyError } from "../errors.js";
import { maker } from "../gate.js";
import { LAWS } from "../law.js";
import type { CallOptions, Events, FetchOptions, Gate, Options, RunOptions, Stats } from "../options.js";
import { write, type Quota } from "../policy.js";
import type { Carrier, Keep } from "./carrier.js";
import { made, type LeaseCore } from "./core.js";
import { leased, type LeasedLane, type SolidLanes } from "./lane.js";
import { steady } from "./steady.js";

/** What a shared gate is made with: all optional. What the budget keeps to is said where the budget is. */
export interface SharedOptions extends Pick<Options, "key" | "keys" | "queue" | "attempts" | "warnAfter" | "fetch" | "now"> {
  /**
   * What this process may send by itself while no coordinator has told it of its share yet.
   * @defaultValue one call a second
   */
  alone?: Quota;
}

/** What a call of a shared gate may say. It costs one call of the budget. */
export type SharedCallOptions = Omit<CallOptions, "cost">;

/** What `fetch` of a shared gate may say besides. A call's place is free at the headers, when its outcome is reported. */
export type SharedFetchOptions = Omit<FetchOptions, "cost" | "actualCost" | "release">;

/** What `run` of a shared gate may say besides. */
export type SharedRunOptions<T> = Omit<RunOptions<T>, "cost" | "actualCost">;

/** What happened, by the name of the event. */
export interface SharedEvents extends Events {
  /** No answer came of the coordinator, or none that can be read; why, where that is known. Calls go on. */
  missed: { key: string; error: unknown };
}

/** What has been counted in this process, over all keys or for one; the budget's own counters are where it is. */
export interface SharedStats extends Omit<Stats, "slowdowns" | "speedups"> {
  /** Requests that were sent to the coordinator, and how many of those were not answered. */
  asked: number;
  missed: number;
  /** Calls that found no lease in hand when they were first in line. */
  without: number;
  /** Calls that a message kept back: they waited for an answer, and their lease was due when it came. */
  delayed: number;
  /** Calls that were sent without a lease, and how many of the keys have no coordinator at present. */
  alone: number;
  cut: number;
  /** Leases in hand. */
  inHand: number;
  /** How many share the budget, as far as this process was told. The largest of all keys. */
  members: number;
}

/** A gate that shares the budget of each key with other processes. */
export interface SharedGate extends Pick<Gate, "close"> {
  /** As `fetch`: within the shared budget, retried where that is safe, and telling all others what the server says. */
  readonly fetch: (input: string | URL | Request, init?: RequestInit, options?: SharedFetchOptions) => Promise<Response>;
  /** Runs any call when it may be sent; the signal is aborted when the call is given up. */
  readonly run: <T>(work: (signal: AbortSignal) => T | PromiseLike<T>, options?: SharedRunOptions<T>) => Promise<T>;
  /** A permit, if a lease is in hand and due; else null, and one is asked for. */
  readonly tryAcquire: (options?: Pick<CallOptions, "key">) => ReturnType<Gate["tryAcquire"]>;
  /** The counters, of all keys or of one. */
  readonly stats: (key?: string) => SharedStats;
  /** Adds a listener; returns a function that removes it. */
  readonly on: <E extends keyof SharedEvents>(event: E, listener: (event: SharedEvents[E]) => void) => () => void;
  readonly [Symbol.dispose]: () => void;
}

/** Where the counters of a lease begin, behind those of every gate, and their names. */
const BEHIND = 13;
const COUNTERS = ["alone", "delayed", "asked", "missed", "members"] as const;

/** Makes the `tidegate` of an entry: from its module, its kind of lanes, and what keeps a process alive. Its lanes stand in a set. */
export const sharer = (load: () => Exports, Kind: SolidLanes, keep: Keep) => {
  let core: LeaseCore | undefined;
  return (carry: Carrier, { alone = { limit: 1, per: 1_000 }, ...options }: SharedOptions & Pick<Options, "timers">, lanes = new Set<LeasedLane>()): SharedGate => {
    check(alone, options.attempts);
    const listeners = new Set<(event: SharedEvents["missed"]) => void>();
    const missed = (key: string, error: unknown) =>
      listeners.forEach((listener) => {
        // What it throws is the program's to hear of; calls go on.
        queueMicrotask(() => listener({ key, error }));
      });

    const Leased = leased(Kind, carry, keep, lanes, missed);
    const policy = { ...options, now: steady(options.now ?? (() => performance.now())), law: "fixed", requests: alone } as const;
    const gate = maker(() => (core ??= made(load())), LAWS.length, Leased)(policy);
    const stats: SharedGate["stats"] = (key) => {
      const { slowdowns, speedups, ...rest } = gate.stats(key);
      const sum: SharedStats = { ...rest, asked: 0, missed: 0, without: 0, delayed: 0, alone: 0, cut: 0, inHand: 0, members: 0 };
      for (const { key: its, gate, house } of lanes) if (key === undefined || its === key) add(sum, house.core as LeaseCore, gate);
      return sum;
    };
    const on: SharedGate["on"] = (event, listener) => {
      if (event !== "missed") return gate.on(event as keyof Events, listener as never);
      listeners.add(listener as never);
      return () => void listeners.delete(listener as never);
    };
    const { fetch, run, tryAcquire, close } = gate;
    return { fetch, run, tryAcquire, stats, on, close, [Symbol.dispose]: close };
  };
};

/** What a process may send by itself is a quota, as a policy has them. */
function check(alone: Quota, attempts: number | undefined): void {
  try {
    write(new Float64Array(18), { law: "fixed", requests: alone, attempts }, LAWS.length, 1);
  } catch (error) {
    throw error instanceof PolicyError ? new PolicyError(error.message.replace(/^requests/, "alone")) : error;
  }
}

function add(sum: SharedStats, core: LeaseCore, gate: number): void {
  core.stats(gate);
  const row = core.row();
  COUNTERS.forEach((name, i) => {
    const told = row[BEHIND + i]!;
    sum[name] = name === "members" ? Math.max(sum[name], told) : sum[name] + told;
  });
  sum.without += core.without(gate);
  sum.inHand += core.in_hand(gate);
  sum.cut += +!!core.is_alone(gate);
}

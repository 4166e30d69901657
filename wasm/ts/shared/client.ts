/** The gate of a process with shared budgets: each call is sent with a lease. */

import type { Exports } from "../core.js";
import { PolicyError } from "../errors.js";
import { maker } from "../gate.js";
import { LAWS } from "../law.js";
import type { CallOptions, Events, FetchOptions, Gate, Options, RunOptions, Stats } from "../options.js";
import { write, type Quota } from "../policy.js";
import { whole } from "../whole.js";
import type { Carrier, Keep } from "./carrier.js";
import { made, type LeaseCore } from "./core.js";
import { leased, type LeasedLane, type SolidLanes } from "./lane.js";
import { steady } from "./steady.js";

/** Options of a shared gate. All are optional. The policy is set where the budget is held. */
export interface SharedOptions extends Pick<Options, "key" | "keys" | "queue" | "attempts" | "warnAfter" | "fetch" | "now"> {
  /**
   * The quota of this process until a coordinator answers. @defaultValue one call a second
   */
  alone?: Quota;
}

/** Options of a call of a shared gate. Each call costs 1. */
export type SharedCallOptions = Omit<CallOptions, "cost">;

/** Options of `fetch` of a shared gate. A call is in flight until its headers arrive; its outcome is then reported. */
export type SharedFetchOptions = Omit<FetchOptions, "cost" | "actualCost" | "release">;

/** Options of `run` of a shared gate. */
export type SharedRunOptions<T> = Omit<RunOptions<T>, "cost" | "actualCost">;

/** The events of a shared gate, by name. */
export interface SharedEvents extends Events {
  /**
   * The coordinator did not answer, or its answer was invalid; or another program's policy applies. `error` is the
   * reason, if it is known. Calls continue.
   */
  missed: { key: string; error: unknown };
}

/** Counters of this process, of all keys or of one. The budget has its own counters where it is held. */
export interface SharedStats extends Omit<Stats, "slowdowns" | "speedups"> {
  /** Requests that were sent to the coordinator. */
  asked: number;
  /** Requests that were not answered. */
  missed: number;
  /** Calls for which no lease was available when they were first in the queue. */
  without: number;
  /** Calls that were sent late because they waited for an answer: their lease was due when it arrived. */
  delayed: number;
  /** Calls that were sent without a lease. */
  alone: number;
  /** Keys that have no coordinator at present. */
  cut: number;
  /** Leases that are available. */
  inHand: number;
  /** How many members share the budget, by the last answer. The largest of all keys. */
  members: number;
}

/** A gate that shares the budget of each key with other processes. */
export interface SharedGate extends Pick<Gate, "close"> {
  /** The same as the global `fetch`, within the shared budget and with retries. All members share the server's feedback. */
  readonly fetch: (input: string | URL | Request, init?: RequestInit, options?: SharedFetchOptions) => Promise<Response>;
  /** Calls `work` when a call may be sent, and retries it. The signal is aborted when the call is. */
  readonly run: <T>(work: (signal: AbortSignal) => T | PromiseLike<T>, options?: SharedRunOptions<T>) => Promise<T>;
  /** Returns a permit if a lease is available and due. Else it returns null and asks for one. */
  readonly tryAcquire: (options?: Pick<CallOptions, "key">) => ReturnType<Gate["tryAcquire"]>;
  /** Returns the counters of all keys, or of one. */
  readonly stats: (key?: string) => SharedStats;
  /**
   * Returns the state of a key in this process. It charges and requests nothing. A call that finds no lease also waits
   * for the answer to a request. @defaultValue the key of `run`
   */
  readonly peek: Gate["peek"];
  /** Adds a listener; returns a function that removes it. */
  readonly on: <E extends keyof SharedEvents>(event: E, listener: (event: SharedEvents[E]) => void) => () => void;
  readonly [Symbol.dispose]: () => void;
}

/** The index of the lease counters, after the counters of every gate, and their names. */
const BEHIND = 13;
const COUNTERS = ["alone", "delayed", "asked", "missed", "members"] as const;

/** Creates the `tidegate` of an entry, from its module, its lane class and a function that keeps the process alive. */
export const sharer = (load: () => Exports, Kind: SolidLanes, keep: Keep) => {
  let core: LeaseCore | undefined;
  return (carry: Carrier, { alone = { limit: 1, per: 1_000 }, ...options }: SharedOptions & Pick<Options, "timers">, lanes = new Set<LeasedLane>()): SharedGate => {
    check(alone, options.attempts);
    const listeners = new Set<(event: SharedEvents["missed"]) => void>();
    const missed = (key: string, error: unknown) =>
      listeners.forEach((listener) => {
        // A listener's error is reported to the program; calls continue.
        queueMicrotask(() => listener({ key, error }));
      });

    const Leased = leased(Kind, carry, keep, lanes, missed);
    const policy = { ...options, now: steady(options.now ?? (() => performance.now())), law: "fixed", requests: alone } as const;
    const gate = maker(() => (core ??= made(load())), LAWS.length, Leased, whole)(policy);
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
    const { fetch, run, tryAcquire, peek, close } = gate;
    return { fetch, run, tryAcquire, stats, peek, on, close, [Symbol.dispose]: close };
  };
};

/** Checks `alone` in the same way as a policy's quota. */
function check(alone: Quota, attempts: number | undefined): void {
  try {
    write([], { law: "fixed", requests: alone, attempts }, LAWS.length, 1);
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
  sum.inHand += core.available_leases(gate);
  sum.cut += +!!core.is_alone(gate);
}

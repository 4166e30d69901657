/** The parts and types of `tidegate/lite`: those of the main entry without what it lacks. */

import type { Parts } from "./gate.js";
import type * as whole from "./options.js";
import type { Policy as WholePolicy } from "./policy.js";
import type { Reply } from "./reply.js";

const LACKS = ["tokens", "retryBudget", "warnAfter", "cost", "actualCost"] as const;
type Lacks = (typeof LACKS)[number];

export const fewer: Parts = { lacks: LACKS };

/** The policy of a gate. All options are optional, and can be changed at run time. */
export type Policy = Omit<WholePolicy, Lacks>;
/** Options of a gate. All are optional. */
export type Options = Omit<whole.Options, Lacks>;
/** Options of a call. Each call costs one. */
export type CallOptions = Omit<whole.CallOptions, Lacks>;
/** Options of a call that returns a `T`. */
export type RunOptions<T> = Omit<whole.RunOptions<T>, Lacks>;
/** Options of `fetch`. */
export type FetchOptions = Omit<whole.FetchOptions, Lacks>;

/** The right to one call. Settle it after the call: the gate learns nothing from a permit that is dropped. */
export interface Permit extends Pick<whole.Permit, typeof Symbol.dispose> {
  /** Reports the outcome of the call; only the first report counts. */
  settle(reply?: Reply): void;
}

/** The ways to make a call. */
export interface Caller {
  /** The same as the global `fetch`, with pacing and retries. It follows the limits that servers report. */
  readonly fetch: (input: string | URL | Request, init?: RequestInit, options?: FetchOptions) => Promise<Response>;
  /** Calls `work` when a call may be sent, and retries it. The signal is aborted when the call is; `work` receives it only if it declares a parameter. */
  readonly run: <T>(work: (signal: AbortSignal) => T | PromiseLike<T>, options?: RunOptions<T>) => Promise<T>;
  /** Returns a function that calls `work` with `run`. */
  readonly wrap: <A extends unknown[], T>(work: (...args: A) => T | PromiseLike<T>, options?: RunOptions<T>) => (...args: A) => Promise<T>;
  /** Returns a permit if a call may be sent now, else null. */
  readonly tryAcquire: (options?: Pick<CallOptions, "key">) => Permit | null;
  /** Returns the same gate with other default options for its calls. */
  readonly with: (defaults: Omit<FetchOptions, "outcome">) => Caller;
}

/** Decides when calls are sent, and learns from their responses. */
export interface Gate extends Caller, Omit<whole.Base, keyof whole.Caller | "setPolicy"> {
  /**
   * Replaces the policy for all keys. If the law stays the same, it keeps what it has learned. A cooldown that is longer
   * than the new `maxCooldown` is shortened to it.
   */
  readonly setPolicy: (policy: Policy) => void;
}

/**
 * One budget for the processes of one user on one machine, without a server.
 *
 * They meet at a socket. The process that has it holds the budgets; when it ends or freezes, whoever asks next
 * takes the socket, and goes on from what the holder has written down beside it. The crate `tidegate-tower`
 * speaks the same: see `core/docs/local.md`.
 */

import { instance, unpack } from "./core.js";
import type { LocalStats } from "./local/budgets.js";
import { Place } from "./local/place.js";
import { Post } from "./local/post.js";
import { PumpedLane } from "./pumped.js";
import { sharer, type SharedGate, type SharedOptions } from "./shared/client.js";
import { writeShared, type SharedPolicy } from "./shared/policy.js";
import { common, packed } from "#packed/shared";

/** What a shared gate is made with: whom it shares with, and what the budget of each key keeps to. */
export interface LocalOptions extends SharedOptions, SharedPolicy {
  /** Who has the same name and folder shares: 1 to 64 letters, digits, dots, dashes and underscores. @defaultValue "default" */
  name?: string;
  /**
   * The folder of the socket and of what has been learnt. It belongs to one user, and nobody else may enter it.
   * @defaultValue `tidegate-` and the user's number, in the folder for temporary files
   */
  folder?: string;
  /** Makes the jitter of a budget that this process holds repeatable, for tests. @defaultValue from `crypto` */
  seed?: number;
}

/** A gate that shares the budget of each key with the other processes of its user. */
export interface LocalGate extends SharedGate {
  /** What the budget of a key has counted, where this is the process that holds it. @defaultValue the key of `run` */
  readonly budget: (key?: string) => LocalStats | undefined;
  /** Gives back what is leased, and the seat, where this process has it. */
  readonly close: () => Promise<void>;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
}

let module: WebAssembly.Module | undefined;
const load = () => instance((module ??= new WebAssembly.Module(unpack(packed, common))));
const share = sharer(load, PumpedLane, () => {});

/** Makes a gate that shares the budget of each key with all processes that use the same `name`. Make one for the program. */
export function tidegate({ name = "default", folder, law, requests, maxCooldown, concurrency, expiry, heartbeat, ...options }: LocalOptions = {}): LocalGate {
  const policy = { law, requests, maxCooldown, concurrency, expiry, heartbeat };
  writeShared(new Float64Array(18), policy);
  const { seed, now } = options;
  const post = new Post({ place: new Place(name, folder), policy, load, seed, now });
  const gate = share(post.carry, options);
  let closed: Promise<void> | undefined;
  const close = () => {
    gate.close();
    return (closed ??= post.close());
  };
  const budget = (key = "") => post.budget(key);
  return { ...gate, budget, close, [Symbol.dispose]: close, [Symbol.asyncDispose]: close };
}

export { Closed, DeadlineExceeded, PolicyError, QueueFull, Rejected, TidegateError } from "./errors.js";
export type { Code } from "./errors.js";
export type { Permit, Target } from "./options.js";
export type { Cause } from "./lane.js";
export type { Law } from "./law.js";
export type { LocalStats } from "./local/budgets.js";
export type { Quota } from "./policy.js";
export type { Outcome, Reply, ResponseLike } from "./reply.js";
export type * from "./shared/index.js";

/**
 * One budget for the processes of one user on one machine, without a server.
 *
 * The processes connect through a socket. The process that owns it holds the budgets. If it ends or
 * freezes, the next process that asks takes the socket over and continues from the holder's files
 * beside it. The crate `tidegate-tower` uses the same protocol: see `core/docs/local.md`.
 */

import type { LocalStats } from "./local/budgets.js";
import { Place } from "./local/place.js";
import { Post } from "./local/post.js";
import type { SharedGate } from "./shared/client.js";
import { held, type HeldOptions } from "./shared/held.js";

/** Options of a shared gate: which processes share, and the policy of each key's budget. */
export interface LocalOptions extends HeldOptions {
  /**
   * Processes with the same name and folder share. 1 to 64 letters, digits, dots, dashes and
   * underscores. @defaultValue "default"
   */
  name?: string;
  /**
   * The folder of the socket and the records. It must belong to the user and be closed to others.
   * @defaultValue `tidegate-` followed by the user ID, in `$XDG_RUNTIME_DIR` if it is the user's own, else in `$TMPDIR`, else in `/tmp`
   */
  folder?: string;
}

/** A gate that shares the budget of each key with the user's other processes. */
export interface LocalGate extends SharedGate {
  /**
   * Returns the counters of a key's budget if this process holds it, else `undefined`.
   * @defaultValue the key of `run`
   */
  readonly budget: (key?: string) => LocalStats | undefined;
  /** Returns all leases, and releases the socket if this process owns it. */
  readonly close: () => Promise<void>;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
}

/**
 * Creates a gate that shares the budget of each key with all processes that use the same `name`.
 * Create one for the program.
 */
export function tidegate({ name = "default", folder, ...options }: LocalOptions = {}): LocalGate {
  const gate = held(options, (desks) => new Post({ place: new Place(name, folder), ...desks }));
  return { ...gate, [Symbol.asyncDispose]: gate.close };
}

export type { LocalStats } from "./local/budgets.js";
export * from "./shared/index.js";

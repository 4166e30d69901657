/**
 * One budget for the processes of one user on one machine, without a server.
 *
 * The processes connect through a socket. The process that owns it holds the budgets. If it ends or
 * freezes, the next process that asks takes the socket over and continues from the holder's files
 * beside it. The crate `tidegate-tower` uses the same protocol: see `core/docs/local.md`.
 */

import { Place } from "./local/place.js";
import { Post } from "./local/post.js";
import { held, type HeldGate, type HeldOptions } from "./shared/held.js";

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

/**
 * Creates a gate that shares the budget of each key with all processes that use the same `name`.
 * Create one for the program. When it closes, it releases the socket if this process owns it.
 */
export function tidegate({ name = "default", folder, ...options }: LocalOptions = {}): HeldGate {
  return held(options, (budgets, standing) => new Post(new Place(name, folder), budgets, standing));
}

export type { HeldGate } from "./shared/held.js";
export * from "./shared/index.js";

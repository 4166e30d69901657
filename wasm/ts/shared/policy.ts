/** The policy of a shared budget. */

import { PolicyError } from "../errors.js";
import { LAWS, type Law } from "../law.js";
import { told, write, type Policy } from "../policy.js";

/**
 * The policy of a shared budget. It applies to the whole fleet as to one client. A strict quota holds for the instants of
 * the leases, which may be used up to a heartbeat later.
 */
export interface SharedPolicy extends Pick<Policy, "requests" | "tolerance"> {
  /** The longest cooldown that a server can cause, in milliseconds. All members keep to it, and it cannot be ended. @defaultValue 3600000 */
  maxCooldown?: number;
  /** Any law except `vegas`: it reacts to delays, and would measure those of the leases. @defaultValue "adaptive" */
  law?: Exclude<Law, "vegas">;
  /** How many calls of all members may be leased or in flight, from 1 to 4096. @defaultValue 4096 */
  concurrency?: number;
  /**
   * How long a call counts as in flight if its end is never reported, in milliseconds. Set it to the duration of
   * the longest call. @defaultValue 30000
   */
  expiry?: number;
  /**
   * The longest time between two requests of a member that has calls, in milliseconds. A shorter one follows the server
   * more closely and costs more messages. In a large fleet it is longer. @defaultValue 500
   */
  heartbeat?: number;
}

/** Encodes a budget's policy and returns its heartbeats. Throws a `PolicyError` that names an invalid option. */
export function writeShared(row: Float64Array | number[], { law, tolerance, requests, maxCooldown, concurrency, expiry, heartbeat = 500 }: SharedPolicy): number {
  if ((law as Law) === "vegas") throw new PolicyError("a shared budget cannot use the law vegas, which reacts to delays");
  if (!(heartbeat > 0 && heartbeat <= 1e12)) throw new PolicyError(`heartbeat is ${told(heartbeat)}; it must be a number above 0`);
  write(row, { law, tolerance, requests, maxCooldown, concurrency }, LAWS.length, expiry ?? 30_000, 4096);
  return heartbeat;
}

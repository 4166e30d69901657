/** The policy of a shared budget: the part of a gate's policy that is the fleet's. */

import { PolicyError } from "../errors.js";
import { LAWS, type Law } from "../law.js";
import { write, type Policy } from "../policy.js";

/** What the whole fleet keeps to, as one client would. */
export interface SharedPolicy extends Pick<Policy, "requests" | "maxCooldown"> {
  /** Any law but `vegas`, which steers by delay and would see the fleet's own. @defaultValue "adaptive" */
  law?: Exclude<Law, "vegas">;
  /** At most so many calls of all members leased and in flight, from 1 to 4096. @defaultValue 4096 */
  concurrency?: number;
  /**
   * After so many milliseconds a call whose end was never told gives its place back: as long as the
   * longest call takes, and no longer. @defaultValue 30000
   */
  expiry?: number;
  /**
   * How often a member asks at least while it has calls, in milliseconds. More often follows the server
   * closer, and costs more messages; a large fleet asks less often. @defaultValue 500
   */
  heartbeat?: number;
}

/** Writes the row of a budget's policy, and tells its heartbeats; throws a `PolicyError` that names what is wrong. */
export function writeShared(row: Float64Array, { law, requests, maxCooldown, concurrency, expiry, heartbeat = 500 }: SharedPolicy): number {
  if ((law as Law) === "vegas") throw new PolicyError("the law vegas steers by delay, and no shared budget can follow it");
  if (!(heartbeat > 0 && heartbeat <= 1e12)) throw new PolicyError(`heartbeat is ${heartbeat}; it is a number above 0, in milliseconds`);
  write(row, { law, requests, maxCooldown, concurrency }, LAWS.length, expiry ?? 30_000, 4096);
  return heartbeat;
}

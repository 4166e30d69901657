/** The policy of a shared budget: the part of a gate's policy that is the fleet's. */

import { PolicyError } from "../errors.js";
import { LAWS, type Law } from "../law.js";
import { write, type Policy } from "../policy.js";

/** What the whole fleet keeps to, as one client would. */
export interface SharedPolicy extends Pick<Policy, "requests" | "maxHold"> {
  /** Any law but `vegas`, which steers by delay and would see the fleet's own. @defaultValue "adaptive" */
  law?: Exclude<Law, "vegas">;
  /** At most so many calls of all isolates leased and in flight, from 1 to 4096. @defaultValue 4096 */
  concurrency?: number;
  /**
   * After so many milliseconds a call whose end was never told gives its place back: as long as the
   * longest call takes, and no longer. @defaultValue 30000
   */
  lease?: number;
  /**
   * How often an isolate asks at least while it has calls, in milliseconds. More often follows the server
   * closer, and costs more messages; a large fleet asks less often. @defaultValue 500
   */
  beat?: number;
}

/** Writes the row of a budget's policy, and tells its beat; throws a `PolicyError` that names what is wrong. */
export function writeShared(row: Float64Array, { law, requests, maxHold, concurrency, lease, beat = 500 }: SharedPolicy): number {
  if ((law as Law) === "vegas") throw new PolicyError("the law vegas steers by delay, and no shared budget can follow it");
  if (!(beat > 0 && beat <= 1e12)) throw new PolicyError(`beat is ${beat}; it is a number above 0, in milliseconds`);
  write(row, { law, requests, maxHold, concurrency }, LAWS.length, lease ?? 30_000, 4096);
  return beat;
}

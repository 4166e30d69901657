/** The warning about calls that wait for long. */

import type { Inside } from "./gate.js";
import type { House } from "./lane.js";

/** Creates a function that gets every wait, and writes one warning to the console. */
export const warner = ({ now, lanes, timers, hasGap }: Inside, warnAfter = 5_000): House["waits"] => {
  /** Whether the warning was written or its timer is set. */
  let warned = false;

  const warn = (key: string, ms: number, what: string) => {
    warned = true;
    console.warn(`tidegate: a call of ${key || "the gate"} waits ${Math.ceil(ms / 100) / 10} s or more: ${what} (Give calls a deadline, or set warnAfter: Infinity to turn this off.)`);
  };

  /** A wait for a call in flight has no known end. */
  const watch = () => {
    warned = true;
    const timer = timers.setTimeout(() => {
      warned = false;
      const since = now() - warnAfter;
      let isWaiting = false;
      for (const { key, waiters, waiting } of lanes.values()) {
        isWaiting ||= waiting > 0;
        const late = waiters.find((call) => call && call.since <= since && call.deadline !== call.deadline);
        if (late) return warn(key, warnAfter, `all places are taken by calls in flight${hasGap() ? " or rest after them" : ""}. A call inside another call with the same key may wait forever: use another key. So may calls for responses whose bodies are not read: read or cancel them, or use release: "headers".`);
      }
      // Those that have not waited for long enough.
      if (isWaiting) watch();
    }, warnAfter);
    (timer as { unref?(): void }).unref?.();
  };

  return ({ key }, { deadline }, cause, ms) => {
    if (warned || deadline === deadline || warnAfter === Infinity) return;
    if (cause === "concurrency") watch();
    else if (ms >= warnAfter && cause !== "paused") {
      warn(key, ms, cause === "cooldown" ? "the server asked for a cooldown." : "the limit is lower than the demand.");
    }
  };
};

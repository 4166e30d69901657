/** The warning about calls that wait for long. */

import type { Inside } from "./gate.js";
import { CAUSES, type House } from "./lane.js";
import { delay } from "./wait.js";

/** Creates a function that gets every wait, and writes one warning to the console. */
export const warner = ({ now, lanes, timers, hasGap, isPaused }: Inside, warnAfter = 5_000): House["waits"] => {
  /** Whether the warning was written or its timer is set. */
  let warned = false;

  const warn = (key: string, ms: number, what: string) => {
    warned = true;
    console.warn(`tidegate: a call of ${key || "the gate"} waits ${Math.ceil(ms / 100) / 10} s or more: ${what} (To turn this warning off, set a deadline, or warnAfter: Infinity.)`);
  };

  /** A wait for a call in flight has no known end. */
  const watch = () => {
    warned = true;
    const timer = timers.setTimeout(() => {
      warned = false;
      const time = now();
      let isWaiting = false;
      for (const lane of lanes.values()) {
        // Calls with a deadline have a known end, and so have other causes.
        const calls = lane.waiters.filter((call) => call && call.deadline !== call.deadline);
        if (!calls[0] || isPaused() || CAUSES[(lane.why(calls[0], time) - 1) % 4] !== "concurrency") continue;
        isWaiting = true;
        if (calls.some((call) => call!.since <= time - warnAfter)) {
          return warn(lane.key, warnAfter, `all slots are taken by calls in flight${hasGap() ? " or gaps after them" : ""}. A call inside another call with the same key may wait forever: use another key. Responses whose bodies are not read keep their slots: read or cancel the bodies, or use release: "headers".`);
        }
      }
      // Those that have not waited for long enough.
      if (isWaiting) watch();
    }, delay(warnAfter));
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

/**
 * A lane with one timer, set for the core's next event. Each call that settles and each timer that
 * fires admits all calls that may be sent.
 */

import { Closed } from "./errors.js";
import { Lane, type Call } from "./lane.js";
import { delay, listen, turn } from "./wait.js";

/** Calls that may end their wait in one turn of the event loop, so that others get turns too. */
const BATCH = 500;

export class PumpedLane extends Lane {
  static readonly expiry = 300_000;
  /** The number left in this turn. */
  #left = BATCH;
  /** The timer, when it fires (0 without one), and whether it lets the program end. */
  #timer: unknown;
  #wakes = 0;
  #weak = false;
  /** Aborted calls that still have their places in the queue. */
  readonly #aborted: Call[] = [];

  wait(call: Call): Promise<number> {
    return new Promise((done, fail) => {
      call.done = done;
      call.fail = fail;
      const { signal } = call;
      if (signal) {
        call.stop = listen(signal, () => {
          if (this.#aborted.push(call) === 1) queueMicrotask(this.#sweep);
        });
      }
      this.#pump(this.used);
    });
  }

  override changed(time = this.house.now()): void {
    super.changed();
    this.#pump(time);
  }

  override close(): void {
    super.close();
    this.house.timers.clearTimeout(this.#timer);
    if (!this.waiting) return;
    const error = new Closed();
    const calls = this.waiters.filter((call) => call);
    const some = () => {
      for (const call of calls.splice(0, BATCH)) {
        this.leave(call!);
        call!.fail!(error);
      }
      if (calls.length) turn(some);
    };
    some();
  }

  /** Rejects aborted calls. One signal may abort all. */
  readonly #sweep = (): void => {
    for (const call of this.#aborted.splice(0, BATCH)) {
      if (call.place < 0) continue;
      this.leave(call);
      call.fail!(call.signal!.reason);
    }
    if (this.#aborted.length) turn(this.#sweep);
    else this.changed();
  };

  #pump(time: number): void {
    // After a close, the slot may belong to another key. And no aborted call is admitted.
    if (this.closed || this.#aborted.length) return;
    let next = 0;
    while (this.#left && (next = this.next(time)) >= 0) {
      if (!--this.#left) {
        turn(() => {
          this.#left = BATCH;
          this.changed();
        });
      }
    }
    if (next >= 0) return;
    const due = time - next;
    const isKept = due < Infinity && this.#wakes > time && this.#wakes <= due + 1;
    if (isKept && !this.#weak) return;
    // A program that only waits for calls in flight that never end may end.
    const isWeak = due < Infinity && !this.dated && this.calls >= this.house.places();
    if (isKept && isWeak) return;
    this.house.timers.clearTimeout(this.#timer);
    this.#wakes = 0;
    if (due === Infinity) return;
    this.#wakes = due;
    this.#weak = isWeak;
    this.#timer = this.house.timers.setTimeout(() => {
      this.#wakes = 0;
      this.#left = BATCH;
      this.changed();
    }, delay(due - time));
    if (isWeak) (this.#timer as { unref?(): void }).unref?.();
  }
}

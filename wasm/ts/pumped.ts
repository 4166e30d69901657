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
  /** The timer and when it fires; 0 without one. */
  #timer: unknown;
  #wakes = 0;

  wait(call: Call): Promise<number> {
    return new Promise((done, fail) => {
      call.done = done;
      call.fail = fail;
      const { signal } = call;
      if (signal) {
        call.stop = listen(signal, () => {
          this.leave(call);
          fail(signal.reason);
          this.changed();
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

  #pump(time: number): void {
    // After a close, the slot may belong to another key.
    if (this.closed) return;
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
    if (due < Infinity && this.#wakes > time && this.#wakes <= due + 1) return;
    // If only a completed call can help, a timer would only keep the program alive.
    this.house.timers.clearTimeout(this.#timer);
    this.#wakes = 0;
    if (due === Infinity) return;
    this.#wakes = due;
    this.#timer = this.house.timers.setTimeout(() => {
      this.#wakes = 0;
      this.#left = BATCH;
      this.changed();
    }, delay(due - time));
  }
}

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
  /** Calls that still have their places in the queue: aborted ones, and all after a close. */
  readonly #ended: Call[] = [];

  wait(call: Call): Promise<number> {
    return new Promise((done, fail) => {
      call.done = done;
      call.fail = fail;
      const { signal } = call;
      if (signal) call.stop = listen(signal, () => this.#reject(call));
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
    for (const call of this.waiters) if (call) this.#reject(call);
  }

  /** One signal may abort all calls, so they are rejected in batches. */
  #reject(call: Call): void {
    if (this.#ended.push(call) === 1) queueMicrotask(this.#sweep);
  }

  readonly #sweep = (): void => {
    for (const call of this.#ended.splice(0, BATCH)) {
      if (call.place < 0) continue;
      this.leave(call);
      call.fail!(call.signal?.aborted ? call.signal.reason : new Closed());
    }
    if (this.#ended.length) turn(this.#sweep);
    else this.changed();
  };

  #pump(time: number): void {
    // After a close, the slot may belong to another key. And no aborted call is admitted.
    if (this.closed || this.#ended.length) return;
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
    // A program that only waits for calls in flight that never end may end.
    const isWeak = !this.dated && this.calls >= this.house.places();
    if (due < Infinity && this.#wakes > time && this.#wakes <= due + 1 && this.#weak === isWeak) return;
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

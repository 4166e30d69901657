/**
 * A lane with one timer, set for what the core says comes next: whoever's call comes back, and whoever
 * wakes, lets go all that may go.
 */

import { Closed } from "./errors.js";
import { Lane, type Call } from "./lane.js";
import { delay } from "./wait.js";

/** See the module. */
export class PumpedLane extends Lane {
  static readonly lease = 300_000;
  /** The timer, and when it fires; 0 where none is set. */
  #timer: ReturnType<typeof setTimeout> | undefined;
  #wakes = 0;

  wait(call: Call): Promise<number> {
    return new Promise((go, fail) => {
      call.go = go;
      call.fail = fail;
      const { signal } = call;
      if (signal) {
        const onAbort = () => {
          this.leave(call);
          fail(signal.reason);
          this.changed();
        };
        signal.addEventListener("abort", onAbort);
        call.stop = () => signal.removeEventListener("abort", onAbort);
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
    for (const call of this.waiters.values()) {
      this.leave(call);
      call.fail!(new Closed("CLOSED", "the gate was closed while the call waited"));
    }
    clearTimeout(this.#timer);
  }

  #pump(time: number): void {
    let next;
    while ((next = this.next(time)) >= 0);
    const due = time - next;
    if (due < Infinity && this.#wakes > time && this.#wakes <= due + 1) return;
    // Where only a call that comes back helps, a timer would keep a program from its end.
    clearTimeout(this.#timer);
    this.#wakes = 0;
    if (due === Infinity) return;
    this.#wakes = due;
    this.#timer = setTimeout(() => {
      this.#wakes = 0;
      this.changed();
    }, delay(due - time));
  }
}

/**
 * A lane with one timer, set for the first in the queue: whoever's call comes back, and whoever
 * wakes, lets go all that may go.
 */

import { Closed, Late } from "./errors.js";
import { Lane, type Waiter } from "./lane.js";
import { after, delay } from "./wait.js";

type Timer = ReturnType<typeof setTimeout>;

/** While the window is full, so often one looks whether a lease has ended. */
const LOOK = 1_000;

interface Pumped extends Waiter {
  go: (permit: number) => void;
  fail: (error: unknown) => void;
  onAbort: () => void;
  /** Stops the timer for its deadline, where it has one. */
  stop?: () => void;
}

/** See the module. */
export class PumpedLane extends Lane<Pumped> {
  static readonly lease = 300_000;
  /** The timer that is set for the first, and when it fires; 0 where none is set. */
  #timer: Timer | undefined;
  #wakes = 0;

  protected wait(waiter: Pumped): Promise<number> {
    return new Promise((go, fail) => {
      const { signal, deadline } = waiter.call;
      const give = (why: unknown) => {
        this.leave(waiter);
        fail(why);
        this.changed();
      };
      waiter.go = go;
      waiter.fail = fail;
      waiter.onAbort = () => give(signal!.reason);
      signal?.addEventListener("abort", waiter.onAbort);
      // NaN: there is no deadline.
      if (deadline > 0) {
        const late = () => {
          const time = this.house.now();
          give(new Late(Math.max(this.turnOf(waiter, time) - time, 1)));
        };
        waiter.stop = after(deadline - this.used, late);
      }
      // Who goes before all others may cost less than they do.
      if (waiter === this.first) this.changed();
    });
  }

  changed(time = this.house.now()): void {
    for (let waiter; (waiter = this.first); ) {
      const permit = this.ask(waiter.call, time);
      if (permit < 0) {
        this.note(permit, time);
        return this.#rouse(time);
      }
      this.leave(waiter);
      if (permit >= 0) waiter.go(permit);
      else waiter.fail(this.refusal(time));
    }
  }

  override close(): void {
    super.close();
    for (let waiter; (waiter = this.first); ) {
      this.leave(waiter);
      waiter.fail(new Closed("CLOSED", "the gate was closed while the call waited"));
    }
  }

  /** Sees that somebody wakes when the first may go. */
  #rouse(time: number): void {
    // A full window opens when a call settles, which pumps, or when the lease of one ends.
    const due = this.due || time + LOOK;
    if (this.#wakes > time && this.#wakes <= due + 1) return;
    clearTimeout(this.#timer);
    this.#wakes = due;
    this.#timer = setTimeout(() => {
      this.#wakes = 0;
      this.changed();
    }, delay(due - time));
  }

  protected override leave(waiter: Pumped): void {
    super.leave(waiter);
    waiter.stop?.();
    waiter.call.signal?.removeEventListener("abort", waiter.onAbort);
    // Nobody is left to wake, and a timer would keep a program from its end.
    if (!this.first) {
      clearTimeout(this.#timer);
      this.#wakes = 0;
    }
  }
}

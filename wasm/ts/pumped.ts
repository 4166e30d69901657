/**
 * A lane with one timer, set for the first in the queue: whoever's call comes back, and whoever
 * wakes, lets go all that may go.
 */

import { Closed, Late } from "./errors.js";
import { Lane, type Call } from "./lane.js";
import { after, delay } from "./wait.js";

type Timer = ReturnType<typeof setTimeout>;

/** While the window is full, one looks so often at least whether it has room. */
const LOOK = 1_000;

/** See the module. */
export class PumpedLane extends Lane {
  static readonly lease = 300_000;
  /** The timer that is set for the first, and when it fires; 0 where none is set. */
  #timer: Timer | undefined;
  #wakes = 0;

  wait(call: Call): Promise<number> {
    return new Promise((go, fail) => {
      call.go = go;
      call.fail = fail;
      // NaN: there is no deadline.
      if (call.signal || call.deadline > 0) this.#limit(call);
      if (call === this.first) this.#rouse(this.used);
    });
  }

  /** Lets a call that waits give up, or be late. */
  #limit(call: Call): void {
    const { signal, deadline } = call;
    const give = (why: unknown) => {
      this.leave(call);
      call.fail!(why);
      this.changed();
    };
    const onAbort = () => give(signal!.reason);
    const late = () => {
      const time = this.house.now();
      give(new Late(Math.max(this.turnOf(call, time) - time, 1)));
    };
    signal?.addEventListener("abort", onAbort);
    const stop = deadline > 0 ? after(deadline - this.house.now(), late) : undefined;
    call.stop = () => {
      stop?.();
      signal?.removeEventListener("abort", onAbort);
    };
  }

  changed(time = this.house.now(), room = Infinity): void {
    for (let call; (call = this.first); ) {
      const permit = room > 0 ? this.ask(call, time) : -Infinity;
      if (permit < 0) {
        this.note(permit, time);
        return this.#rouse(time);
      }
      this.leave(call);
      if (permit >= 0) {
        room--;
        call.go!(permit);
      } else call.fail!(this.refusal(time));
    }
  }

  override close(): void {
    super.close();
    for (let call; (call = this.first); ) {
      this.leave(call);
      call.fail!(new Closed("CLOSED", "the gate was closed while the call waited"));
    }
  }

  /** Sees that somebody wakes when the first may go. */
  #rouse(time: number): void {
    // A full window opens when a call settles, which pumps, or by time: the law's, or the lease's of a call.
    const due = this.due || Math.min(this.house.core.next_at(this.gate, time), time + LOOK);
    if (this.#wakes > time && this.#wakes <= due + 1) return;
    clearTimeout(this.#timer);
    this.#wakes = due;
    this.#timer = setTimeout(() => {
      this.#wakes = 0;
      this.changed();
    }, delay(due - time));
  }

  protected override leave(call: Call): void {
    super.leave(call);
    call.stop?.();
    // Nobody is left to wake, and a timer would keep a program from its end.
    if (!this.first) {
      clearTimeout(this.#timer);
      this.#wakes = 0;
    }
  }
}

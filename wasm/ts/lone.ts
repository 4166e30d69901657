/**
 * A lane for edge workers, where a timer dies with the request that made it, and nobody may wake
 * what another request waits for: each call sleeps on its own timer, and asks for itself.
 *
 * A waiter whose request was given up never wakes. So those behind it take no notice of one that has
 * overslept; if it does wake, it takes its place again.
 */

import { Closed, Late } from "./errors.js";
import { Lane, type Call } from "./lane.js";
import { nap } from "./wait.js";

/** So many milliseconds late, a waiter is taken for lost. */
const LOST = 20;

/** While calls in flight keep all others back, 32 of these look so often whether one has come back. */
const LOOK = 5;

/** Who has longer to wait than the first looks again at half the time, or after the second: nobody wakes it if things get faster. */
const SOON = 50;
const OFTEN = 200;

/** See the module. */
export class LoneLane extends Lane {
  static readonly lease = 30_000;
  override take(slot: number, deadline: number, requests: number, tokens: number): number {
    this.#forget(this.house.now());
    return super.take(slot, deadline, requests, tokens);
  }

  override isIdle(stale: number): boolean {
    this.#forget(this.house.now());
    return super.isIdle(stale);
  }

  // Each finds out by itself.
  changed(): void {}

  /** How soon the first looks again whether it may go, where nobody can say when. */
  patience(_time: number): number {
    return LOOK;
  }

  async wait(call: Call): Promise<number> {
    const { deadline, signal } = call;
    let time = this.house.now();
    let due = this.turnOf(call, time);
    try {
      for (;;) {
        const full = this.due ? 0 : Math.min(this.patience(time) * (1 + Math.max((call.turn - this.first!.turn) >> 5, 0)), OFTEN);
        const left = Math.min(due, deadline > time ? deadline : due) - time;
        // Less than a millisecond is none to a timer.
        const ms = Math.max(left > SOON ? Math.min(left / 2, OFTEN) : left, full, 1);
        call.wakes = time + ms;
        await nap(ms, signal);
        if (this.closed) throw new Closed("CLOSED", "the gate was closed while the call waited");
        time = this.house.now();
        call.wakes = 0;
        if (!call.waits) this.join(call);
        this.#forget(time);
        if (this.first === call) {
          const permit = this.ask(call, time);
          if (permit >= 0) {
            this.due = time + this.spacing(call.requests, call.tokens, time);
            return permit;
          }
          if (permit !== permit) throw this.refusal(time);
          this.note(permit, time);
        }
        due = this.turnOf(call, time);
        if (time >= deadline) throw new Late(Math.max(due - time, 1));
      }
    } finally {
      this.leave(call);
    }
  }

  /** Takes those at the front off the list that never woke. */
  #forget(time: number): void {
    for (let call; (call = this.first) && call.wakes && call.wakes + LOST < time; ) this.leave(call);
  }
}

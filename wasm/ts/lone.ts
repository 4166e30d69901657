/**
 * A lane for edge workers. There a timer ends with the request that set it, and a request may not
 * wake what another waits for. So each call sleeps on its own timer and asks for itself.
 *
 * A call whose request was cancelled never wakes. So calls behind an overdue one ignore it; if it
 * does wake, it takes its place again.
 */

import { Closed, DeadlineExceeded } from "./errors.js";
import { Lane, type Call } from "./lane.js";
import { nap } from "./wait.js";

/** A call counts as lost if it is this many milliseconds later than the latest call that woke. */
const LOST = 20;

/** The same for whether a lane is idle: nothing shows whether the event loop was busy. */
const GONE = 1_000;

/** While calls in flight block all others, the first 32 check at this interval whether one has completed, ms. */
const LOOK = 5;

/**
 * A call with a longer wait than the first checks again after half of it, or at this interval: no
 * event wakes it if it could be sent earlier.
 */
const SOON = 50;
const OFTEN = 200;

export class LoneLane extends Lane {
  static readonly expiry = 30_000;
  /** When the first call may be sent; 0 if that depends on an event. */
  #due = 0;
  /** How late the latest call woke, ms. After a busy event loop all are late, and none of them is lost. */
  #late = 0;

  override take(requests: number, tokens: number): number {
    this.#forget(this.house.now());
    return super.take(requests, tokens);
  }

  override isIdle(stale?: number): boolean {
    this.#forget(this.house.now(), GONE);
    return super.isIdle(stale);
  }

  override join(call: Call, time: number): number {
    this.#forget(time);
    return super.join(call, time);
  }

  /** Milliseconds until the first call checks again, if the time is unknown. */
  patience(_time: number): number {
    return LOOK;
  }

  async wait(call: Call): Promise<number> {
    const { deadline, signal } = call;
    let permit = -1;
    let error: unknown;
    call.done = (given) => (permit = given);
    call.fail = (why) => (error = why);
    let time = this.used;
    try {
      for (;;) {
        this.#ask(call, time);
        if (permit >= 0) return permit;
        if (error) throw error;
        const rank = this.#rank(call);
        const due = Math.max(this.#due, time) + this.#spacing(rank * call.requests, rank * call.tokens, time);
        if (time >= deadline) throw new DeadlineExceeded(Math.max(due - time, 1));
        const full = this.#due ? 0 : Math.min(this.patience(time) * (1 + (rank >> 5)), OFTEN);
        const left = Math.min(due, deadline > time ? deadline : due) - time;
        // A timer takes at least a millisecond.
        const ms = Math.max(left > SOON ? Math.min(left / 2, OFTEN) : left, full, 1);
        call.wakes = time + ms;
        await nap(this.house.timers, ms, signal);
        if (this.closed) throw new Closed();
        time = this.house.now();
        this.#late = Math.max(time - call.wakes, 0);
        call.wakes = 0;
        // It counted as lost, so it joins again.
        if (call.place < 0 && !error) permit = this.join(call, time);
      }
    } finally {
      this.leave(call);
    }
  }

  /** Asks only for the first call: the caller of any other may be gone. */
  #ask(call: Call, time: number): void {
    this.#forget(time);
    while (call.place >= 0 && this.#first() === call) {
      const next = this.next(time);
      // Other calls receive their decision when they wake.
      if (next < 0) {
        const why = this.why(call);
        // Without calls in flight, places rest until a known time.
        this.#due = why > 3 || (why === 3 && (this.house.paused || this.calls)) ? 0 : time - next;
        return;
      }
      if (call.place < 0) this.#due = time + this.#spacing(call.requests, call.tokens, time);
    }
  }

  #first(): Call | undefined {
    return this.waiters[this.house.core.first(this.gate)];
  }

  /** The most calls that are before this one. */
  #rank(call: Call): number {
    const first = this.#first();
    return first ? Math.max(Math.min(call.turn - first.turn, this.waiting - 1), 0) : 0;
  }

  /** The law's interval after calls of this cost. */
  #spacing(requests: number, tokens: number, time: number): number {
    const after = (limit: number, cost: number) => cost ? cost * this.house.core.interval(this.gate, limit, time) : 0;
    return Math.max(after(0, requests), after(1, tokens));
  }

  /** Removes calls at the front that never woke. */
  #forget(time: number, late = LOST): void {
    for (let call; (call = this.#first()) && call.wakes && call.wakes + late + this.#late < time; ) this.leave(call);
  }
}

/**
 * A lane for edge workers, where a timer dies with the request that made it, and nobody may wake
 * what another request waits for: each call sleeps on its own timer, and asks for itself.
 *
 * A waiter whose request was given up never wakes. So those behind it take no notice of one that has
 * overslept; if it does wake, it takes its place again.
 */

import { Closed, DeadlineExceeded } from "./errors.js";
import { Lane, type Call, type Then } from "./lane.js";
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
  static readonly expiry = 30_000;
  /** When the first may go, as the core said; 0 where that hangs on a call in flight. */
  #due = 0;

  override take(requests: number, tokens: number): number {
    this.#forget(this.house.now());
    return super.take(requests, tokens);
  }

  override isIdle(stale?: number): boolean {
    this.#forget(this.house.now());
    return super.isIdle(stale);
  }

  protected override join(call: Call, time: number): number {
    this.#forget(time);
    return super.join(call, time);
  }

  /** How soon the first looks again whether it may go, where nobody can say when. */
  patience(_time: number): number {
    return LOOK;
  }

  async wait<C extends Call, T>(call: C, then: Then<C, T>): Promise<T> {
    const { deadline, signal } = call;
    let permit = -1;
    let error: unknown;
    call.then = (_, given) => given;
    call.done = (given) => (permit = given);
    call.fail = (why) => (error = why);
    let time = this.used;
    try {
      for (;;) {
        this.#ask(call, time);
        if (permit >= 0) return then(call, permit);
        if (error) throw error;
        const rank = this.#rank(call, time);
        const due = Math.max(this.#due, time) + this.#spacing(rank * call.requests, rank * call.tokens, time);
        if (time >= deadline) throw new DeadlineExceeded(Math.max(due - time, 1));
        const full = this.#due ? 0 : Math.min(this.patience(time) * (1 + (rank >> 5)), OFTEN);
        const left = Math.min(due, deadline > time ? deadline : due) - time;
        // Less than a millisecond is none to a timer.
        const ms = Math.max(left > SOON ? Math.min(left / 2, OFTEN) : left, full, 1);
        call.wakes = time + ms;
        await nap(this.house.timers, ms, signal);
        if (this.closed) throw new Closed();
        time = this.house.now();
        call.wakes = 0;
        // It was taken for lost.
        if (call.place < 0 && !error) permit = this.join(call, time);
      }
    } finally {
      this.leave(call);
    }
  }

  /** Asks for the first only: the caller of any other may be gone. */
  #ask(call: Call, time: number): void {
    this.#forget(time);
    while (call.place >= 0 && this.#first(time) === call) {
      const next = this.next(time);
      // What is decided of others is theirs when they wake.
      if (next < 0) this.#due = this.why(call) > 2 ? 0 : time - next;
      else if (call.place < 0) this.#due = time + this.#spacing(call.requests, call.tokens, time);
      if (next < 0) return;
    }
  }

  #first(time: number): Call | undefined {
    return this.waiters[this.house.core.first(this.gate, time)];
  }

  /** How many stand before a call, at most. */
  #rank(call: Call, time: number): number {
    const first = this.#first(time);
    return first ? Math.max(Math.min(call.turn - first.turn, this.waiting - 1), 0) : 0;
  }

  /** How long the law keeps the next call back after some of this cost. */
  #spacing(requests: number, tokens: number, time: number): number {
    const after = (limit: number, cost: number) => cost && cost * this.house.core.interval(this.gate, limit, time);
    return Math.max(after(0, requests), after(1, tokens));
  }

  /** Takes those at the front off the list that never woke. */
  #forget(time: number): void {
    for (let call; (call = this.#first(time)) && call.wakes && call.wakes + LOST < time; ) this.leave(call);
  }
}

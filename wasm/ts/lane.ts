/**
 * One key's queue in front of its controller: first come, first served within a priority.
 *
 * Whoever's timer fires asks for the one at the front, and that one goes. One timer is enough, set
 * for the front. But in an edge worker a timer dies with the request that made it, and nobody may
 * depend on another's: there every waiter has its own besides, set for its turn when it arrives.
 */

import type { Core } from "./core.js";
import { Closed, Late, QueueFull, Refused } from "./errors.js";
import { delay } from "./wait.js";

/** Which gate keeps a call back. */
export type Cause = "pace" | "hold" | "window" | "budget";

/** The causes in the core's order. */
export const CAUSES: readonly Cause[] = ["pace", "hold", "window", "budget"];

/** A call on its way: what it asks for, and where it stands. */
export interface Call {
  /** The core's slot of a later attempt; -1 for a first one. */
  slot: number;
  /** On the gate's clock; NaN for none. */
  readonly deadline: number;
  readonly requests: number;
  readonly tokens: number;
  readonly priority: number;
  readonly signal: AbortSignal | null | undefined;
  /** Its place among all calls of its lane. */
  readonly turn: number;
}

interface Waiter {
  readonly call: Call;
  readonly go: (permit: number) => void;
  readonly fail: (error: unknown) => void;
  readonly onAbort: () => void;
  /** The intervals of all that came before it, and its own. */
  ahead: number;
  timer: ReturnType<typeof setTimeout> | undefined;
  /** When its own timer fires, where it has one. */
  wakes: number;
  before: Waiter | undefined;
  after: Waiter | undefined;
}

/** What a lane asks of its gate. */
export interface House {
  readonly core: Core;
  readonly now: () => number;
  readonly queue: number;
  /** Timers die with the request that made them. */
  readonly edge: boolean;
  waits(lane: Lane, cause: Cause, ms: number): void;
}

export class Lane {
  /** Calls that wait. */
  waiting = 0;
  /** Calls under way: waiting, in flight, or between two attempts. */
  calls = 0;
  /** How many calls have come. */
  turns = 0;
  /** The outcome's number of the call that came back last. */
  outcome = 0;
  /** When it was used last. */
  used = 0;
  closed = false;
  #first: Waiter | undefined;
  #last: Waiter | undefined;
  /** When the one at the front may go, as the core said. */
  #due = 0;
  /** The timer that is set for the front, and when it fires; 0 where none is set. */
  #timer: ReturnType<typeof setTimeout> | undefined;
  #wakes = 0;

  constructor(
    readonly key: string,
    /** The core's slot. */
    readonly gate: number,
    readonly house: House,
  ) {}

  /** A permit, at once; or less than 0, or NaN, where there is none now. */
  take(call: Call): number {
    const { core, now } = this.house;
    const time = (this.used = now());
    if (this.#first) return -Infinity;
    const permit = core.poll(this.gate, call.slot, time, call.deadline, call.requests, call.tokens);
    return permit;
  }

  /** A permit, at once or when it is the call's turn. What can be refused at once throws. */
  enter(call: Call): number | Promise<number> {
    if (this.closed) throw new Closed("CLOSED", "the gate was closed");
    const answer = this.take(call);
    if (answer >= 0) return answer;
    const { house } = this;
    if (answer !== answer) throw this.#refusal(this.used);
    call.signal?.throwIfAborted();
    if (this.waiting >= house.queue) {
      const whom = this.key || "the gate";
      throw new QueueFull("QUEUE_FULL", `${house.queue} calls wait for ${whom} already: send fewer, or raise the option queue`);
    }
    let before = this.#last;
    while (before && isBefore(call, before.call)) before = before.before;
    const after = before ? before.after : this.#first;
    const ahead = before ? before.ahead + this.#interval(call, this.used) : (after?.ahead ?? 0);
    if (!this.#first) this.#front(answer, this.used);
    const due = this.#due + (this.#first ? ahead - this.#first.ahead : 0);
    if (due > call.deadline) throw new Late(due - this.used);
    return new Promise((go, fail) => {
      const onAbort = () => {
        this.#leave(waiter);
        fail(call.signal!.reason);
        this.pump();
      };
      const waiter: Waiter = { call, go, fail, onAbort, ahead, timer: undefined, wakes: 0, before, after };
      if (before) before.after = waiter;
      else this.#first = waiter;
      if (after) after.before = waiter;
      else this.#last = waiter;
      this.waiting++;
      call.signal?.addEventListener("abort", onAbort);
      // A timer of its own: for its turn, or at least for its deadline.
      if (house.edge) this.#sleep(waiter, due, this.used);
      else if (call.deadline > 0) this.#sleep(waiter, call.deadline, this.used);
      // Who goes before all others may cost less than they do.
      if (waiter === this.#first && after) this.pump();
      else if (waiter === this.#first) this.#rouse(waiter, this.used);
      house.waits(this, this.#cause(call, this.used), due - this.used);
    });
  }

  /** The call has come back, and the core's reply is prepared: of this outcome's number. */
  settle(permit: number, outcome: number): void {
    this.outcome = outcome;
    const { core, now } = this.house;
    // By now the slot may be another's.
    if (this.closed) return;
    core.settle(this.gate, permit, now());
    if (this.#first) this.pump();
  }

  /** Lets go whoever may go. */
  pump(): void {
    const { core, now } = this.house;
    for (let waiter; (waiter = this.#first); ) {
      const time = now();
      const { slot, deadline, requests, tokens } = waiter.call;
      const permit = core.poll(this.gate, slot, time, deadline, requests, tokens);
      if (permit >= 0) {
        this.#leave(waiter);
        waiter.go(permit);
      } else if (permit < 0) {
        this.#front(permit, time);
        return this.#rouse(waiter, time);
      } else {
        this.#leave(waiter);
        waiter.fail(this.#refusal(time));
      }
    }
  }

  /** Sends everybody home. */
  close(): void {
    if (this.closed) return;
    this.closed = true;
    for (let waiter; (waiter = this.#first); ) {
      this.#leave(waiter);
      waiter.fail(new Closed("CLOSED", "the gate was closed while the call waited"));
    }
    clearTimeout(this.#timer);
    this.house.core.close(this.gate);
  }

  /** Notes until when the front waits. */
  #front(answer: number, time: number): void {
    // A full window opens when a call settles, at the latest when a lease ends.
    this.#due = answer > -Infinity ? time - answer : Math.max(this.house.core.next_at(this.gate), time + 1) || Infinity;
  }

  /** Sees that somebody wakes when the front may go. */
  #rouse(front: Waiter, time: number): void {
    const due = this.#due;
    if (this.house.edge && front.timer === undefined) return this.#sleep(front, due, time);
    // An earlier one than this may have died with its request: then the waiter's own is there still.
    const soon = (wakes: number) => wakes > time && wakes <= due + 1;
    if (soon(this.#wakes) || (this.house.edge && soon(front.wakes))) return;
    clearTimeout(this.#timer);
    this.#wakes = due;
    this.#timer = setTimeout(() => {
      this.#wakes = 0;
      this.pump();
    }, delay(due - time));
  }

  /** A waiter's own timer. */
  #sleep(waiter: Waiter, due: number, time: number): void {
    const { deadline } = waiter.call;
    waiter.wakes = due > deadline ? deadline : due;
    waiter.timer = setTimeout(() => {
      waiter.timer = undefined;
      this.pump();
      if (!this.#holds(waiter) || waiter.timer !== undefined) return;
      // Its turn has not come: all have become slower, or somebody went before it.
      const now = this.house.now();
      const due = this.#due + waiter.ahead - this.#first!.ahead;
      if (now < deadline || deadline !== deadline) return this.#sleep(waiter, due, now);
      this.#leave(waiter);
      waiter.fail(new Late(Math.max(due - now, 1)));
    }, delay(waiter.wakes - time));
  }

  #holds(waiter: Waiter): boolean {
    return waiter.before !== undefined || this.#first === waiter;
  }

  #leave(waiter: Waiter): void {
    const { before, after } = waiter;
    if (!this.#holds(waiter)) return;
    if (before) before.after = after;
    else this.#first = after;
    if (after) after.before = before;
    else this.#last = before;
    waiter.before = waiter.after = undefined;
    this.waiting--;
    clearTimeout(waiter.timer);
    if (!this.#first) {
      // Nobody is left to wake, and a timer would keep a program from its end.
      clearTimeout(this.#timer);
      this.#wakes = 0;
    }
    waiter.call.signal?.removeEventListener("abort", waiter.onAbort);
  }

  #interval({ requests, tokens }: Call, time: number): number {
    const { core } = this.house;
    return Math.max(requests * core.interval(this.gate, 0, time), tokens && tokens * core.interval(this.gate, 1, time));
  }

  #cause(call: Call, time: number): Cause {
    const why = this.house.core.why(this.gate, call.slot, time, call.deadline, call.requests, call.tokens);
    return CAUSES[why - 1] ?? "pace";
  }

  #refusal(time: number): Error {
    const { core } = this.house;
    switch (core.reason()) {
      case 1:
        return new Late(core.late() - time);
      case 2:
        return new Refused("OVER_LIMIT", "the law's limit for this second is used up");
      case 3:
        return new Refused("BUDGET", "the retry budget is spent");
      case 4:
        return new Refused("TOO_BIG", "the cost is more than the limit's burst, so the call never fits");
      default:
        return new Refused("NEVER", "the wait would outlast the clock");
    }
  }
}

/** Whether a call goes before another that waits. */
function isBefore(call: Call, other: Call): boolean {
  return call.priority > other.priority || (call.priority === other.priority && call.turn < other.turn);
}

/**
 * One key's queue in front of its controller: first come, first served within a priority.
 *
 * How those who wait are woken differs: see `PumpedLane`, and `LoneLane` for edge workers.
 */

import type { Core } from "./core.js";
import { Closed, Late, QueueFull, Refused } from "./errors.js";

/** Which gate keeps a call back. */
export type Cause = "pace" | "hold" | "window" | "budget";

/** The causes in the core's order. */
const CAUSES: readonly Cause[] = ["pace", "hold", "window", "budget"];

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

/** A call that waits, in a list of them. */
export interface Waiter {
  readonly call: Call;
  /** The costs of all that came before it, and its own. */
  requests: number;
  tokens: number;
  /** Whether it is in the list. */
  listed: boolean;
  before: Waiter | undefined;
  after: Waiter | undefined;
}

/** What a lane asks of its gate. */
export interface House {
  readonly core: Core;
  readonly now: () => number;
  readonly queue: number;
  waits(lane: Lane, cause: Cause, ms: number): void;
}

/** See the module. `W` is what a kind of lane keeps of a waiter. */
export abstract class Lane<W extends Waiter = Waiter> {
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
  /** Who goes next. */
  first: W | undefined;
  #last: W | undefined;
  /** When the first may go, as the core said; the past where that hangs on a call in flight. */
  due = 0;
  /** What keeps the first back, and with it all others, once somebody has asked. */
  #cause: Cause | undefined;

  constructor(
    readonly key: string,
    /** The core's slot. */
    readonly gate: number,
    readonly house: House,
  ) {}

  /** Resolves to the permit of a waiter that has joined. */
  protected abstract wait(waiter: W): Promise<number>;

  /** A call has come back, or the policy has changed: the next may leave earlier. */
  abstract changed(time?: number): void;

  /** Whether nothing is under way any more, but for what was lost before `stale`. */
  isIdle(stale: number): boolean {
    return !this.calls || (!this.waiting && this.used < stale);
  }

  /** A permit, at once; or less than 0, or NaN, where there is none now. */
  take(slot: number, deadline: number, requests: number, tokens: number): number {
    const time = (this.used = this.house.now());
    return this.first ? -Infinity : this.house.core.poll(this.gate, slot, time, deadline, requests, tokens);
  }

  /** What the core answers a call that waits. */
  protected ask({ slot, deadline, requests, tokens }: Call, time: number): number {
    return this.house.core.poll(this.gate, slot, time, deadline, requests, tokens);
  }

  /** A permit, at once or when it is the call's turn. What can be refused at once throws. */
  enter(call: Call): number | Promise<number> {
    if (this.closed) throw new Closed("CLOSED", "the gate was closed");
    const { slot, deadline, requests, tokens } = call;
    const answer = this.take(slot, deadline, requests, tokens);
    if (answer >= 0) return answer;
    const { house } = this;
    if (answer !== answer) throw this.refusal(this.used);
    call.signal?.throwIfAborted();
    if (this.waiting >= house.queue) {
      const whom = this.key || "the gate";
      throw new QueueFull("QUEUE_FULL", `${house.queue} calls wait for ${whom} already: send fewer, or raise the option queue`);
    }
    const { first } = this;
    const waiter = { call, requests: 0, tokens: 0, listed: false, before: undefined, after: undefined } as Waiter as W;
    const time = this.used;
    this.join(waiter);
    if (waiter === this.first) {
      // Who goes before all others may cost less than they do, or be under another limit.
      const known = first ? this.ask(call, time) : answer;
      if (!(known < 0)) {
        this.leave(waiter);
        if (known >= 0) return known;
        throw this.refusal(time);
      }
      this.note(known, time);
    }
    const ms = this.turnOf(waiter, time) - time;
    if (deadline >= 0 && time + ms > deadline) {
      this.leave(waiter);
      throw new Late(ms);
    }
    const cause = (this.#cause ??= CAUSES[house.core.why(this.gate, slot, time, deadline, requests, tokens) - 1] ?? "pace");
    // It waits before anybody hears of it: who hears may close the gate, or change what it waits for.
    const permit = this.wait(waiter);
    house.waits(this, cause, ms);
    return permit;
  }

  /** The call has come back, and the core's reply is prepared: of this outcome's number. */
  settle(permit: number, outcome: number): void {
    this.outcome = outcome;
    // By now the slot may be another's.
    if (this.closed) return;
    const time = this.house.now();
    this.house.core.settle(this.gate, permit, time);
    if (this.first) this.changed(time);
  }

  /** Takes nobody any more. */
  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.house.core.close(this.gate);
  }

  /** Notes until when the first waits. */
  protected note(answer: number, time: number): void {
    this.due = answer > -Infinity ? time - answer : 0;
    this.#cause = undefined;
  }

  /** Puts a waiter where it belongs. */
  protected join(waiter: W): void {
    const { call } = waiter;
    let before = this.#last as Waiter | undefined;
    while (before && isBefore(call, before.call)) before = before.before;
    const after = before ? before.after : this.first;
    waiter.before = before;
    waiter.after = after;
    waiter.requests = before ? before.requests + call.requests : (after?.requests ?? 0);
    waiter.tokens = before ? before.tokens + call.tokens : (after?.tokens ?? 0);
    if (before) before.after = waiter;
    else this.first = waiter;
    if (after) after.before = waiter;
    else this.#last = waiter;
    waiter.listed = true;
    this.waiting++;
  }

  /** When a waiter's turn comes, by all that is known now. */
  protected turnOf({ requests, tokens }: W, time: number): number {
    const { first, due } = this;
    return Math.max(due, time) + this.spacing(requests - first!.requests, tokens - first!.tokens, time);
  }

  /** How long the law keeps the next call back after one of this cost. */
  protected spacing(requests: number, tokens: number, time: number): number {
    const after = (limit: number, cost: number) => cost && cost * this.house.core.interval(this.gate, limit, time);
    return Math.max(after(0, requests), after(1, tokens));
  }

  protected leave(waiter: W): void {
    if (!waiter.listed) return;
    const { before, after } = waiter;
    if (before) before.after = after;
    else this.first = after as W | undefined;
    if (after) after.before = before;
    else this.#last = before as W | undefined;
    waiter.before = waiter.after = undefined;
    waiter.listed = false;
    this.waiting--;
  }

  protected refusal(time: number): Error {
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

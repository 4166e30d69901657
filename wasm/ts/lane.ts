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
  /** While it waits: its neighbours, and the costs of all from the first to it. */
  waits: boolean;
  before: Call | undefined;
  after: Call | undefined;
  allRequests: number;
  allTokens: number;
  /** What its lane keeps of it besides. */
  go: ((permit: number) => void) | undefined;
  fail: ((error: unknown) => void) | undefined;
  stop: (() => void) | undefined;
  wakes: number;
}

/** A call that has not asked yet. */
export function callOf(deadline: number, requests: number, tokens: number, priority: number, signal: Call["signal"], turn: number): Call {
  return {
    slot: -1, deadline, requests, tokens, priority, signal, turn,
    waits: false, before: undefined, after: undefined, allRequests: 0, allTokens: 0,
    go: undefined, fail: undefined, stop: undefined, wakes: 0,
  };
}

/** What a lane asks of its gate. */
export interface House {
  readonly core: Core;
  readonly now: () => number;
  readonly queue: number;
  waits(lane: Lane, cause: Cause, call: Call): void;
}

/** See the module. */
export abstract class Lane {
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
  first: Call | undefined;
  #last: Call | undefined;
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

  /** Resolves to the permit of a call that has joined. */
  abstract wait(call: Call): Promise<number>;

  /** A call has come back, or the policy has changed: up to `room` more may leave now. */
  abstract changed(time?: number, room?: number): void;

  /** Whether nothing is under way any more, but for what was lost before `stale`. */
  isIdle(stale: number): boolean {
    return !this.calls || (!this.waiting && this.used < stale);
  }

  /** A permit, at once; or less than 0, or NaN, where there is none now. */
  take(slot: number, deadline: number, requests: number, tokens: number): number {
    return this.first ? -Infinity : this.#poll(slot, this.house.now(), deadline, requests, tokens);
  }

  /** What the core answers a call that waits. */
  ask({ slot, deadline, requests, tokens }: Call, time: number): number {
    return this.#poll(slot, time, deadline, requests, tokens);
  }

  #poll(slot: number, time: number, deadline: number, requests: number, tokens: number): number {
    this.used = time;
    return this.house.core.poll(this.gate, slot, time, deadline, requests, tokens);
  }

  /** A permit, at once or when it is the call's turn. What can be refused at once throws. */
  enter(call: Call): number | Promise<number> {
    if (this.closed) throw new Closed("CLOSED", "the gate was closed");
    call.signal?.throwIfAborted();
    const answer = this.take(call.slot, call.deadline, call.requests, call.tokens);
    if (answer >= 0) return answer;
    const { house, first } = this;
    if (answer !== answer) throw this.refusal(this.used);
    if (this.waiting >= house.queue) {
      const whom = this.key || "the gate";
      throw new QueueFull("QUEUE_FULL", `${house.queue} calls wait for ${whom} already: send fewer, or raise the option queue`);
    }
    this.join(call);
    if (call === this.first) {
      // Who goes before all others may cost less than they do, or be under another limit.
      const known = first ? this.ask(call, house.now()) : answer;
      if (!(known < 0)) {
        this.leave(call);
        if (known >= 0) return known;
        throw this.refusal(this.used);
      }
      this.note(known, this.used);
    }
    if (call.deadline >= 0) {
      const time = house.now();
      const turn = this.turnOf(call, time);
      if (turn > call.deadline) {
        this.leave(call);
        throw new Late(turn - time);
      }
    }
    const cause = (this.#cause ??= this.#why(call));
    // It waits before anybody hears of it: who hears may close the gate, or change what it waits for.
    const permit = this.wait(call);
    house.waits(this, cause, call);
    return permit;
  }

  #why({ slot, deadline, requests, tokens }: Call): Cause {
    const { core, now } = this.house;
    return CAUSES[core.why(this.gate, slot, now(), deadline, requests, tokens) - 1] ?? "pace";
  }

  /** The call has come back, and the core's reply is prepared: of this outcome's number. */
  settle(permit: number, outcome: number): void {
    this.outcome = outcome;
    // By now the slot may be another's.
    if (this.closed) return;
    const time = this.house.now();
    const room = this.house.core.settle(this.gate, permit, time);
    if (this.first) this.changed(time, room);
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

  /** Puts a call where it belongs among those that wait. */
  protected join(call: Call): void {
    let before = this.#last;
    while (before && isBefore(call, before)) before = before.before;
    const after = before ? before.after : this.first;
    call.before = before;
    call.after = after;
    call.allRequests = before ? before.allRequests + call.requests : (after?.allRequests ?? 0);
    call.allTokens = before ? before.allTokens + call.tokens : (after?.allTokens ?? 0);
    if (before) before.after = call;
    else this.first = call;
    if (after) after.before = call;
    else this.#last = call;
    call.waits = true;
    this.waiting++;
  }

  /** When the turn of a call that waits comes, by all that is known now. */
  turnOf({ allRequests, allTokens }: Call, time: number): number {
    const { first, due } = this;
    return Math.max(due, time) + this.spacing(allRequests - first!.allRequests, allTokens - first!.allTokens, time);
  }

  /** How long the law keeps the next call back after one of this cost. */
  protected spacing(requests: number, tokens: number, time: number): number {
    const after = (limit: number, cost: number) => cost && cost * this.house.core.interval(this.gate, limit, time);
    return Math.max(after(0, requests), after(1, tokens));
  }

  protected leave(call: Call): void {
    if (!call.waits) return;
    const { before, after } = call;
    if (before) before.after = after;
    else this.first = after;
    if (after) after.before = before;
    else this.#last = before;
    call.before = call.after = undefined;
    call.waits = false;
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

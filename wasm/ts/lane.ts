/**
 * One key's calls, which wait in the core's queue; here are their promises.
 *
 * How those that wait are woken differs: see `PumpedLane`, and `LoneLane` for edge workers.
 */

import type { Core } from "./core.js";
import { Closed, Late, PolicyError, QueueFull, Refused } from "./errors.js";

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
  /** The core's slot in the queue; -1 while it does not wait. */
  place: number;
  /** While it waits: what its permit is for, what takes the result or why there is none, and what ends its listening. */
  then: ((permit: number) => unknown) | undefined;
  done: ((result: any) => void) | undefined;
  fail: ((error: unknown) => void) | undefined;
  stop: (() => void) | undefined;
  /** When its own timer fires. */
  wakes: number;
}

/** A call that has not asked yet. */
export function callOf(deadline: number, requests: number, tokens: number, priority: number, signal: Call["signal"], turn: number): Call {
  if (!(priority >= 0 && priority <= 7) || priority % 1) throw new PolicyError(`priority is ${priority}; it is a whole number from 0 to 7`);
  return { slot: -1, deadline, requests, tokens, priority, signal, turn, place: -1, then: undefined, done: undefined, fail: undefined, stop: undefined, wakes: 0 };
}

/** What a lane asks of its gate. */
export interface House {
  readonly core: Core;
  readonly now: () => number;
  readonly queue: number;
  waits(lane: Lane, cause: Cause, ms: number): void;
}

/** See the module. */
export abstract class Lane {
  /** The calls that wait, by their places, and how many they are. */
  readonly waiters: (Call | undefined)[] = [];
  waiting = 0;
  /** Calls that were admitted: in flight, or before another attempt. */
  calls = 0;
  /** How many calls have come. */
  turns = 0;
  /** The outcome's number of the call that came back last. */
  outcome = 0;
  /** When it was used last. */
  used = 0;
  closed = false;
  /** What keeps the first back, and with it all others, once somebody has asked. */
  #cause: Cause | undefined;

  constructor(
    readonly key: string,
    /** The core's slot. */
    readonly gate: number,
    readonly house: House,
  ) {}

  /** Resolves to what `then` makes of the permit of a call that has joined. */
  abstract wait<T>(call: Call, then: (permit: number) => T | Promise<T>): Promise<T>;

  /** A call has come back, or the policy has changed: others may be admitted now. */
  changed(_time?: number): void {
    this.#cause = undefined;
  }

  /** Whether nothing is under way any more, but for what was lost before `stale`. */
  isIdle(stale = -Infinity): boolean {
    return !this.waiting && (!this.calls || this.used < stale);
  }

  /** A permit, where a call need not wait; or less than 0, or NaN. */
  take(requests: number, tokens: number): number {
    return this.house.core.poll(this.gate, (this.used = this.house.now()), requests, tokens);
  }

  /** What `then` makes of a permit, at once or when it is the call's turn. What can be rejected at once throws. */
  enter<T>(call: Call, then: (permit: number) => T | Promise<T>): T | Promise<T> {
    if (this.closed) throw new Closed("CLOSED", "the gate was closed");
    call.signal?.throwIfAborted();
    const answer = this.join(call, this.house.now());
    if (answer >= 0) return then(answer);
    const ms = this.house.core.given() - this.used;
    const cause = (this.#cause ??= CAUSES[this.why(call) - 1] ?? "pace");
    // It waits before anybody hears of it: who hears may close the gate, or change what it waits for.
    const result = this.wait(call, then);
    this.house.waits(this, cause, ms);
    return result;
  }

  /** A permit; or less than 0, where the call waits from now on. Throws where it is refused. */
  protected join(call: Call, time: number): number {
    const { slot, deadline, requests, tokens, priority, turn } = call;
    this.used = time;
    const answer = this.house.core.join(this.gate, slot, time, deadline, requests, tokens, priority, turn);
    if (answer < 0) {
      this.waiters[(call.place = -1 - answer)] = call;
      this.waiting++;
    } else if (answer !== answer) throw this.#refusal(time);
    return answer;
  }

  /** Ends the wait of the next call that is decided; or less than 0, in how many milliseconds to look again. */
  protected next(time: number): number {
    const { core } = this.house;
    const next = core.next(this.gate, (this.used = time));
    const call = this.waiters[next];
    if (call) {
      const permit = core.given();
      this.#end(call);
      if (permit >= 0) call.done!(call.then!(permit));
      else call.fail!(this.#refusal(time));
    }
    return next;
  }

  /** The number of what keeps a call back. */
  protected why({ slot, deadline, requests, tokens }: Call): number {
    return this.house.core.why(this.gate, slot, this.used, deadline, requests, tokens);
  }

  /** The call has come back, and the core's reply is prepared: of this outcome's number. See what `changed` then. */
  settle(permit: number, outcome: number): void {
    this.outcome = outcome;
    // By now the slot may be another's.
    if (!this.closed) this.house.core.settle(this.gate, permit, this.house.now());
  }

  /** Takes nobody any more. */
  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.house.core.close(this.gate);
  }

  /** A call waits no more. */
  protected leave(call: Call): void {
    if (call.place < 0) return;
    if (!this.closed) this.house.core.cancel(this.gate, call.place, call.turn);
    this.#end(call);
  }

  #end(call: Call): void {
    this.waiters[call.place] = undefined;
    this.waiting--;
    call.place = -1;
    call.stop?.();
  }

  #refusal(time: number): Error {
    const { core, queue } = this.house;
    switch (core.reason()) {
      case 1:
        return new Late(Math.max(core.late() - time, 1));
      case 2:
        return new Refused("OVER_LIMIT", "the law's limit for this second is used up");
      case 3:
        return new Refused("BUDGET", "the retry budget is spent");
      case 4:
        return new Refused("TOO_BIG", "the cost is more than the limit's burst, so the call never fits");
      case 6:
        return new QueueFull("QUEUE_FULL", `${queue} calls wait for ${this.key || "the gate"} already: send fewer, or raise the option queue`);
      default:
        return new Refused("NEVER", "the wait would outlast the clock");
    }
  }
}

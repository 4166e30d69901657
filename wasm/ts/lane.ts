/**
 * One key's calls, which wait in the core's queue; here are their promises.
 *
 * How those that wait are woken differs: see `PumpedLane`, and `LoneLane` for edge workers.
 */

import type { Core } from "./core.js";
import type { Timers } from "./wait.js";
import { Closed, DeadlineExceeded, QueueFull, Rejected, type Code } from "./errors.js";

/** Why a call waits. */
export type Cause = (typeof CAUSES)[number];

/** The causes in the core's order, and one that the core knows as a limit of no calls. */
export const CAUSES = ["pacing", "cooldown", "concurrency", "retryBudget", "paused"] as const;

/** A call on its way: what it asks for, and where it stands. */
export interface Call {
  /** On the gate's clock; NaN for none. */
  readonly deadline: number;
  readonly requests: number;
  readonly tokens: number;
  readonly priority: number;
  readonly signal: AbortSignal | null | undefined;
  /** Its place among all calls of its lane. */
  readonly turn: number;
  /** The core's slot of a later attempt; -1 for a first one. */
  slot: number;
  /** The core's slot in the queue; -1 while it does not wait. */
  place: number;
  /** While it waits: what takes its permit, and the result of that; why there is none; and what ends its listening. */
  then: Then<any, any> | undefined;
  done: ((result: any) => void) | undefined;
  fail: ((error: unknown) => void) | undefined;
  stop: (() => void) | undefined;
  /** Since when it waits, NaN where it does not; and when its own timer fires. */
  since: number;
  wakes: number;
}

/** What becomes of a call that is admitted. */
export type Then<C extends Call, T> = (call: C, permit: number) => T | Promise<T>;

/** What a lane asks of its gate. */
export interface House {
  readonly core: Core;
  readonly now: () => number;
  readonly timers: Timers;
  readonly queue: number;
  paused: boolean;
  waits(lane: Lane, call: Call, cause: Cause, ms: number): void;
}

/** See the module. */
export abstract class Lane {
  /** The calls that wait, by their places, and how many they are. */
  readonly waiters: (Call | undefined)[] = [];
  waiting = 0;
  /** Calls that were admitted: in flight, or before another attempt. */
  calls = 0;
  /** How many waits each cause had. */
  readonly causes: Record<Cause, number> = { pacing: 0, cooldown: 0, concurrency: 0, retryBudget: 0, paused: 0 };
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

  /** Resolves to what `then` makes of a call that has joined, when it is admitted. */
  abstract wait<C extends Call, T>(call: C, then: Then<C, T>): Promise<T>;

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

  /** What `then` makes of a call, which is admitted at once or when it is its turn. What can be rejected at once throws. */
  enter<C extends Call, T>(call: C, then: Then<C, T>): T | Promise<T> {
    if (this.closed) throw new Closed();
    call.signal?.throwIfAborted();
    const answer = this.join(call, this.house.now());
    if (answer >= 0) return then(call, answer);
    const ms = this.house.core.given() - this.used;
    const cause = this.house.paused ? "paused" : (this.#cause ??= CAUSES[(this.why(call) - 1) % 4] ?? "pacing");
    this.causes[cause]++;
    call.since = this.used;
    // It waits before anybody hears of it: who hears may close the gate, or change what it waits for.
    const result = this.wait(call, then);
    this.house.waits(this, call, cause, ms);
    return result;
  }

  /** A permit; or less than 0, where the call waits from now on. Throws where it is rejected. */
  protected join(call: Call, time: number): number {
    const { slot, deadline, requests, tokens, priority, turn } = call;
    this.used = time;
    const answer = this.house.core.join(this.gate, slot, time, deadline, requests, tokens, priority, turn);
    if (answer < 0) {
      this.waiters[(call.place = -1 - answer)] = call;
      this.waiting++;
    } else if (answer !== answer) throw this.#rejection(time);
    return answer;
  }

  /** Ends the wait of the next call that is decided; or less than 0, in how many milliseconds to look again. */
  protected next(time: number): number {
    const { core } = this.house;
    const next = core.next(this.gate, (this.used = time));
    const call = next >= 0 && this.waiters[next];
    if (call) {
      const permit = core.given();
      this.#end(call);
      if (permit >= 0) call.done!(call.then!(call, permit));
      else call.fail!(this.#rejection(time));
    }
    return next;
  }

  /** The number of what keeps a call back. */
  protected why({ slot, deadline, requests, tokens }: Call): number {
    return this.house.core.why(this.gate, slot, this.used, deadline, requests, tokens);
  }

  /** The call's headers have come, and the core's reply is prepared: of this outcome's number. See what `changed` then. */
  learn(permit: number, outcome: number): void {
    this.outcome = outcome;
    // By now the slot may be another's.
    if (!this.closed) this.house.core.learn(this.gate, permit, this.house.now());
  }

  /** The call is over: its place is free. See what `changed` then. */
  release(permit: number): void {
    this.calls--;
    if (!this.closed) this.house.core.release(this.gate, permit);
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

  #rejection(time: number): Error {
    const { core, queue } = this.house;
    const reason = core.reason();
    if (reason === 1) return new DeadlineExceeded(Math.max(core.late() - time, 1));
    if (reason === 6) return new QueueFull(queue, this.key);
    const [code, message] = REASONS[reason - 2] ?? REASONS[3]!;
    return new Rejected(code, message);
  }
}

/** Why a call cannot be admitted, in the core's order from 2 on. */
const REASONS: readonly [Code, string][] = [
  ["OVER_LIMIT", "the law's limit for this second is used up"],
  ["RETRY_BUDGET", "the retry budget is spent"],
  ["TOO_BIG", "the cost is more than the limit's burst, so the call never fits"],
  ["NEVER", "the wait would outlast the clock"],
];

/**
 * The calls of one key. They wait in the core's queue; a lane holds their promises.
 *
 * Subclasses decide how waiting calls wake: `PumpedLane`, and `LoneLane` for edge workers.
 */

import type { Core } from "./core.js";
import { dropped, type Timers } from "./wait.js";
import { Closed, DeadlineExceeded, QueueFull, Rejected, type Code } from "./errors.js";

/** Why a call waits. */
export type Cause = (typeof CAUSES)[number];

/** The core's causes 1 to 4, and "paused", which the core knows as a limit of no calls. Its cause 5, a lack of leases, is pacing. */
export const CAUSES = ["pacing", "cooldown", "concurrency", "retryBudget", "paused"] as const;

/** A call in progress: its request and its state. */
export interface Call {
  /** A time of the gate's clock; NaN without a deadline. */
  readonly deadline: number;
  readonly requests: number;
  readonly tokens: number;
  readonly priority: number;
  readonly signal: AbortSignal | null | undefined;
  /** Its number among all calls of its lane. */
  turn: number;
  /** The core's slot of a retry; -1 for a first attempt. */
  slot: number;
  /** The core's slot in the queue; -1 if it does not wait. */
  place: number;
  /** While it waits: the settlers of its promise, and the function that stops listening to its signal. */
  done: ((permit: number) => void) | undefined;
  fail: ((error: unknown) => void) | undefined;
  stop: (() => void) | undefined;
  /** When it began to wait, or NaN; and when its own timer fires. */
  since: number;
  wakes: number;
}

/** Runs an admitted call. */
export type Then<C extends Call, T> = (call: C, permit: number) => T | Promise<T>;

/** What a lane needs from its gate. */
export interface House {
  readonly core: Core;
  readonly now: () => number;
  readonly timers: Timers;
  readonly queue: number;
  paused: boolean;
  /** The limit of calls in flight, unless the program has said when a lost one gives its place back. */
  places(): number;
  waits(lane: Lane, call: Call, cause: Cause, ms: number): void;
}

/** What a gate uses of the lane of a call, or of its lanes. */
export type Entry = Pick<
  Lane,
  "key" | "gate" | "house" | "closed" | "used" | "waiting" | "between" | "turns" | "outcome" | "take" | "enter" | "learn" | "retry" | "stream" | "release" | "changed"
>;

export abstract class Lane {
  /** The waiting calls by queue slot, and their number. */
  readonly waiters: (Call | undefined)[] = [];
  waiting = 0;
  /** How many of them have a deadline. */
  dated = 0;
  /** Admitted calls: about to be sent, or in flight. */
  calls = 0;
  /** Calls between two attempts, or with several keys, which may wait in another lane. */
  between = 0;
  /** The number of waits by cause. */
  readonly causes: Record<Cause, number> = { pacing: 0, cooldown: 0, concurrency: 0, retryBudget: 0, paused: 0 };
  /** How many calls have arrived. */
  turns = 0;
  /** The outcome of the last call that completed. */
  outcome = 0;
  /** When it was last used. */
  used = 0;
  closed = false;
  /** What delays the first call, and therefore all others; cached. */
  #cause: Cause | undefined;

  constructor(
    readonly key: string,
    /** The core's slot. */
    readonly gate: number,
    readonly house: House,
  ) {
    // An arrow function would keep this lane.
    dropped?.register(this, house.core.close.bind(undefined, gate), this);
  }

  /**
   * Resolves to the permit of a call in the queue, when it is admitted. The promise of the caller then runs the call, in
   * the caller's async context; the code that admits it would run it in another call's.
   */
  abstract wait(call: Call): Promise<number>;

  /** Called when a call has completed or the policy has changed: others may be admitted now. */
  changed(_time?: number): void {
    this.#cause = undefined;
  }

  /** Whether no call is in progress, except calls lost before `stale`. */
  isIdle(stale = -Infinity): boolean {
    return !this.waiting && (!(this.calls + this.between) || this.used < stale);
  }

  /** Returns a permit if the call need not wait, else a negative number or NaN. */
  take(requests: number, tokens: number): number {
    return this.#count(this.house.core.poll(this.gate, (this.used = this.house.now()), requests, tokens));
  }

  /** Returns what `then` returns for a call, which is admitted at once or later. Throws if it is rejected at once. */
  enter<C extends Call, T>(call: C, then: Then<C, T>): T | Promise<T> {
    if (this.closed) throw new Closed();
    call.signal?.throwIfAborted();
    const answer = this.join(call, this.house.now());
    return answer >= 0 ? then(call, answer) : this.stay(call).then((permit) => then(call, permit));
  }

  /** Lets a call wait that has just joined. Resolves to its permit. */
  stay(call: Call): Promise<number> {
    const ms = this.house.core.given() - this.used;
    const cause = this.house.paused ? "paused" : (this.#cause ??= CAUSES[(this.why(call) - 1) % 4] ?? "pacing");
    this.causes[cause]++;
    call.since = this.used;
    // Start to wait before the event: a listener may close the gate or change what the call waits for.
    const permit = this.wait(call);
    this.house.waits(this, call, cause, ms);
    return permit;
  }

  /** A permit, or a negative number if the call waits now. Throws if it is rejected. */
  join(call: Call, time: number): number {
    const { slot, deadline, requests, tokens, priority, turn } = call;
    this.used = time;
    const answer = this.house.core.join(this.gate, slot, time, deadline, requests, tokens, priority, turn);
    if (answer < 0) {
      this.waiters[(call.place = -1 - answer)] = call;
      this.waiting++;
      this.dated += +(deadline === deadline);
    } else if (answer !== answer) throw this.#rejection(time);
    return this.#count(answer);
  }

  /** Counts a call if it is admitted. */
  #count(answer: number): number {
    if (answer >= 0) this.calls++;
    return answer;
  }

  /**
   * Ends the wait of the next call that is decided. A negative result is the time until the next
   * check, in milliseconds.
   */
  protected next(time: number): number {
    const { core } = this.house;
    const next = core.next(this.gate, (this.used = time));
    const call = next >= 0 && this.waiters[next];
    if (call) {
      const permit = this.#count(core.given());
      this.#end(call);
      if (permit >= 0) call.done!(permit);
      else call.fail!(this.#rejection(time));
    }
    return next;
  }

  /** The number of the cause that delays a call. */
  why({ slot, deadline, requests, tokens }: Call, time = this.used): number {
    return this.house.core.why(this.gate, slot, time, deadline, requests, tokens);
  }

  /**
   * Reports a call's headers; the core's reply is prepared with this outcome. Returns the time. Call `changed`
   * afterwards.
   */
  learn(permit: number, outcome: number): number {
    const time = this.house.now();
    this.outcome = outcome;
    // After a close, the slot may belong to another key.
    if (!this.closed) this.house.core.learn(this.gate, permit, time);
    return time;
  }

  /** The core's slot of the next attempt of a call, after the current reply; if there is none, a negative number that says why. */
  retry({ slot, deadline, requests, tokens }: Call, time: number, level: number): number {
    return this.house.core.retry(this.gate, slot, time, deadline, requests, tokens, level);
  }

  /** Reads the next bytes of a call's stream, or its end. The tokens that it reports are what the call costs. Call `changed` after the end. */
  stream(permit: number, bytes?: Uint8Array): void {
    const { core, now } = this.house;
    if (this.closed) return;
    for (let at = 0; bytes && at < bytes.length; ) {
      const room = core.room();
      const piece = bytes.subarray(at, (at += room.length));
      room.set(piece);
      core.stream(this.gate, permit, piece.length, 0);
    }
    if (!bytes) core.stream(this.gate, permit, 0, now());
  }

  /** Ends a call and frees its place, now or after the gap. Call `changed` afterwards. */
  release(permit: number, time = this.house.now()): void {
    this.calls--;
    if (!this.closed) this.house.core.release(this.gate, permit, time);
  }

  /** Rejects all waiting calls, and any later ones. */
  close(): void {
    if (this.closed) return;
    this.closed = true;
    dropped?.unregister(this);
    this.house.core.close(this.gate);
  }

  /** Removes a call from the queue. */
  leave(call: Call): void {
    if (call.place < 0) return;
    if (!this.closed) this.house.core.cancel(this.gate, call.place, call.turn);
    this.#end(call);
  }

  #end(call: Call): void {
    this.waiters[call.place] = undefined;
    this.waiting--;
    this.dated -= +(call.deadline === call.deadline);
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
  ["OVER_LIMIT", "the law allows no more calls this second"],
  ["RETRY_BUDGET", "the retry budget is spent"],
  ["TOO_BIG", "the cost is more than the limit's burst, so the call never fits"],
  ["NEVER", "the wait exceeds the clock's range"],
];

/**
 * The courier of one member: sends its requests when they are due, and receives the answers.
 *
 * If timers end with the request that set them, the carrier of a request may be gone: then the next
 * call that checks takes over.
 */

import { TidegateError } from "../errors.js";
import { delay, type Timers } from "../wait.js";
import type { Carrier, Keep } from "./carrier.js";
import type { LeaseCore } from "./core.js";

/** A timer that is this many milliseconds late counts as lost. */
const LOST = 20;

/** After this time a new call takes over: an edge worker's request lives for at most half a minute. */
const TERM = 10_000;

/** How soon, and at least how often, a call that cannot be woken checks for an answer, ms. */
const LOOK = 5;
const OFTEN = 200;

/** The member whose requests are carried. */
export interface Member {
  readonly key: string;
  /** The core's slot. */
  readonly gate: number;
  /** How many calls wait for a lease. */
  wanting(): number;
  /** Called after an answer or its failure: calls may be sent. */
  changed(time: number): void;
}

export class Courier {
  readonly #core: LeaseCore;
  readonly #member: Member;
  readonly #carry: Carrier;
  readonly #keep: Keep;
  readonly #now: () => number;
  readonly #timers: Timers;
  readonly #missed: (error: unknown) => void;
  /** When the timer fires, which timer it is, and when the chain of timers began. */
  #wakes = -Infinity;
  #timer: { ref?(): void; unref?(): void } | undefined;
  #began = -Infinity;
  /** Whether a request is about to be sent, and the one that is in flight. */
  #soon = false;
  #away: Uint8Array | undefined;
  /** Whether the latest request was not answered. */
  #isCut = false;
  #closed = false;

  constructor(core: LeaseCore, member: Member, carry: Carrier, keep: Keep, now: () => number, timers: Timers, missed: (error: unknown) => void) {
    this.#core = core;
    this.#member = member;
    this.#carry = carry;
    this.#keep = keep;
    this.#now = now;
    this.#timers = timers;
    this.#missed = missed;
  }

  /** Whether an answer is expected, which may bring leases. */
  get isAsking(): boolean {
    return this.#soon || !!this.#away;
  }

  /** Called after any change of when a request is due, by a new call or by its timers. */
  look(time: number, fresh: boolean): void {
    const due = this.#core.request_at(this.#member.gate);
    // NaN: no request is due until a call asks or settles.
    if (due <= time) {
      // Requests of one turn are combined.
      if (!this.#soon) queueMicrotask(() => this.#ask());
      this.#soon = true;
    } else if (due > time) this.#sleep(due, time, fresh);
  }

  /** Milliseconds until a call without a lease should check again. */
  patience(time: number): number {
    return this.#away || this.#soon ? LOOK : Math.min(Math.max(this.#wakes - time, LOOK), OFTEN);
  }

  /** Sends the last request, which returns all leases, without waiting for the answer. */
  close(): void {
    this.#closed = true;
    this.#release();
    const request = this.#leave();
    if (request) this.#keep(this.#send(request).catch(() => {}));
  }

  /** The same, but continues when a call needs a lease. */
  rest(): void {
    const request = this.#leave();
    if (!request) return;
    this.#away = request;
    this.#keep(this.#exchange(request));
  }

  #leave(): Uint8Array<ArrayBuffer> | undefined {
    const length = this.#core.leave(this.#member.gate, this.#now());
    return length ? this.#core.room().slice(0, length) : undefined;
  }

  #sleep(due: number, time: number, fresh: boolean): void {
    // While a request is in flight, its sender continues when the answer arrives.
    const stale = fresh && !this.isAsking && time - this.#began > TERM;
    if (this.#wakes <= due && this.#wakes + LOST > time && !stale) return this.#hold();
    if (stale) this.#began = time;
    this.#release();
    this.#wakes = due;
    this.#keep(
      new Promise<void>((end) => {
        const timer: unknown = this.#timers.setTimeout(() => {
          if (timer === this.#timer) {
            this.#wakes = -Infinity;
            this.look(this.#now(), false);
          }
          end();
        }, delay(due - time));
        this.#timer = timer as { unref?(): void };
        this.#hold();
      }),
    );
  }

  /** The timer keeps the program alive, except for reports that nobody answers. */
  #hold(): void {
    if (this.#isCut && !this.#member.wanting()) this.#timer?.unref?.();
    else this.#timer?.ref?.();
  }

  /**
   * The timer may belong to another request that waits for it, so it is not cleared but ignored. It
   * does not keep the program alive.
   */
  #release(): void {
    this.#timer?.unref?.();
    this.#timer = undefined;
  }

  #ask(): void {
    this.#soon = false;
    if (this.#closed) return;
    const time = this.#now();
    const length = this.#core.request(this.#member.gate, this.#member.wanting(), time);
    if (length > 0) {
      const request = this.#core.room().slice(0, length);
      this.#away = request;
      this.#keep(this.#exchange(request));
    }
    if (length < 0) this.#misses(time, new TidegateError("AWAY", "no answer arrived in time"));
    // Never retry at once: a clock that stands still may stay just before the instant that is due.
    const due = this.#core.request_at(this.#member.gate);
    if (due === due) this.#sleep(Math.max(due, time + 1), time, false);
  }

  async #exchange(request: Uint8Array<ArrayBuffer>): Promise<void> {
    let grant: Uint8Array | undefined;
    let why: unknown;
    try {
      grant = await this.#send(request);
    } catch (error) {
      why = error;
    }
    if (this.#closed) return;
    const time = this.#now();
    const isLatest = request === this.#away;
    if (this.#hears(grant, time)) {
      if (isLatest) this.#away = undefined;
      this.#isCut = false;
      this.#member.changed(time);
    } else if (isLatest) {
      this.#core.miss(this.#member.gate, time);
      this.#misses(time, why);
    }
    this.look(time, false);
  }

  async #send(request: Uint8Array<ArrayBuffer>): Promise<Uint8Array | undefined> {
    return this.#carry(this.#member.key, request, this.#missed);
  }

  /** Nothing is in flight any more. */
  #misses(time: number, why: unknown): void {
    this.#away = undefined;
    this.#isCut = true;
    this.#missed(why);
    this.#member.changed(time);
  }

  #hears(grant: Uint8Array | undefined, time: number): boolean {
    const room = this.#core.room();
    if (!grant?.length || grant.length > room.length) return false;
    room.set(grant);
    return !!this.#core.hear(this.#member.gate, grant.length, this.#member.wanting(), time);
  }
}

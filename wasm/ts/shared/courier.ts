/**
 * The courier of one member: sees that its requests leave when they are due, and that it hears the
 * answers.
 *
 * Where timers die with the request that made them, the one who carries may be gone: then whoever
 * looks next takes over.
 */

import { TidegateError } from "../errors.js";
import { delay, type Timers } from "../wait.js";
import type { Carrier, Keep } from "./carrier.js";
import type { LeaseCore } from "./core.js";

/** So many milliseconds late, a timer is taken for lost. */
const LOST = 20;

/** After so long a fresh call takes over: an edge worker's request is not kept for longer than half a minute. */
const TERM = 10_000;

/** So soon, and at least so often, whoever cannot be woken looks whether an answer has come. */
const LOOK = 5;
const OFTEN = 200;

/** Whose requests are carried. */
export interface Member {
  readonly key: string;
  /** The core's slot. */
  readonly gate: number;
  /** How many calls wait for a lease. */
  wanting(): number;
  /** Something was heard, or is not to be heard any more: calls may be sent. */
  changed(time: number): void;
}

/** See the module. */
export class Courier {
  readonly #core: LeaseCore;
  readonly #member: Member;
  readonly #carry: Carrier;
  readonly #keep: Keep;
  readonly #now: () => number;
  readonly #timers: Timers;
  readonly #missed: (error: unknown) => void;
  /** When the timer fires, which timer it is, and since when they have followed on one another. */
  #wakes = -Infinity;
  #timer: { unref?(): void } | undefined;
  #began = -Infinity;
  /** Whether a request is about to leave, and the one that is on its way. */
  #soon = false;
  #away: Uint8Array | undefined;
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

  /** Whether an answer is waited for, which may bring leases. */
  get isAsking(): boolean {
    return this.#soon || !!this.#away;
  }

  /** After whatever may have changed when a request is due: by a fresh call, or by what it began before. */
  look(time: number, fresh: boolean): void {
    const due = this.#core.request_at(this.#member.gate);
    // NaN: none is, until a call asks or settles.
    if (due <= time) {
      // All that ask in one turn are counted together.
      if (!this.#soon) queueMicrotask(() => this.#ask());
      this.#soon = true;
    } else if (due > time) this.#sleep(due, time, fresh);
  }

  /** How soon to look again for somebody who lacks a lease. */
  patience(time: number): number {
    return this.#away || this.#soon ? LOOK : Math.min(Math.max(this.#wakes - time, LOOK), OFTEN);
  }

  /** Says good-bye, and gives back what is in hand: nobody waits for the answer. */
  close(): void {
    this.#closed = true;
    this.#release();
    const request = this.#leave();
    if (request) this.#keep(this.#send(request).catch(() => {}));
  }

  /** The same, but it goes on when a call needs something. */
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
    // While a request is away, whoever sent it goes on when the answer comes.
    const stale = fresh && !this.isAsking && time - this.#began > TERM;
    if (this.#wakes <= due && this.#wakes + LOST > time && !stale) return;
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
      }),
    );
  }

  /** The timer may be another request's, which waits for it: so it is not cleared, but counts for nothing. It keeps no program from its end. */
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
    if (length < 0) this.#misses(time, new TidegateError("AWAY", "no answer has come in time"));
    // Never at once again: a clock that stands still while nobody sleeps may stand a little before an
    // instant of the same number.
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
      this.#member.changed(time);
    } else if (isLatest) {
      this.#core.miss(this.#member.gate, time);
      this.#misses(time, why);
    }
    this.look(time, false);
  }

  async #send(request: Uint8Array<ArrayBuffer>): Promise<Uint8Array | undefined> {
    return this.#carry(this.#member.key, request);
  }

  /** Nothing is on its way any more. */
  #misses(time: number, why: unknown): void {
    this.#away = undefined;
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

/**
 * The courier of one isolate: sees that its requests leave when they are due, and that it hears the
 * answers.
 *
 * Where timers die with the request that made them, the one who carries may be gone: then whoever
 * looks next takes over.
 */

import { delay } from "../wait.js";
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
export interface Isolate {
  readonly key: string;
  /** The core's slot. */
  readonly gate: number;
  /** How many calls wait for a departure. */
  wanting(): number;
  /** Something was heard, or is not to be heard any more: calls may leave. */
  changed(time: number): void;
}

/** See the module. */
export class Courier {
  readonly #core: LeaseCore;
  readonly #isolate: Isolate;
  readonly #carry: Carrier;
  readonly #keep: Keep;
  readonly #now: () => number;
  readonly #missed: (error: unknown) => void;
  /** When the timer fires, which timer it is, and since when they have followed on one another. */
  #wakes = -Infinity;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #began = -Infinity;
  /** Whether a request is about to leave, how many have, and whether the latest is on its way. */
  #soon = false;
  #turn = 0;
  #isAway = false;
  #closed = false;

  constructor(core: LeaseCore, isolate: Isolate, carry: Carrier, keep: Keep, now: () => number, missed: (error: unknown) => void) {
    this.#core = core;
    this.#isolate = isolate;
    this.#carry = carry;
    this.#keep = keep;
    this.#now = now;
    this.#missed = missed;
  }

  /** After whatever may have changed when a request is due: by a fresh call, or by what it began before. */
  look(time: number, fresh: boolean): void {
    const due = this.#core.request_at(this.#isolate.gate);
    // NaN: none is, until a call asks or settles.
    if (due <= time) {
      // All that ask in one turn are counted together.
      if (!this.#soon) queueMicrotask(() => this.#ask());
      this.#soon = true;
      if (fresh) this.#began = time;
    } else if (due > time) this.#sleep(due, time, fresh);
  }

  /** How soon to look again for somebody who lacks a departure. */
  patience(time: number): number {
    return this.#isAway || this.#soon ? LOOK : Math.min(Math.max(this.#wakes - time, LOOK), OFTEN);
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  #sleep(due: number, time: number, fresh: boolean): void {
    const stale = fresh && time - this.#began > TERM;
    if (this.#wakes <= due && this.#wakes + LOST > time && !stale) return;
    if (stale) this.#began = time;
    this.#wakes = due;
    // One that fires after all finds that it is not the one any more. It keeps no program from its end.
    (this.#timer as { unref?(): void } | undefined)?.unref?.();
    this.#keep(
      new Promise<void>((end) => {
        const timer = setTimeout(() => {
          if (timer === this.#timer && !this.#closed) {
            this.#wakes = -Infinity;
            this.look(this.#now(), false);
          }
          end();
        }, delay(due - time));
        this.#timer = timer;
      }),
    );
  }

  #ask(): void {
    this.#soon = false;
    if (this.#closed) return;
    const time = this.#now();
    const length = this.#core.request(this.#isolate.gate, this.#isolate.wanting(), time);
    this.#isAway = length > 0;
    if (length) this.#keep(this.#exchange(this.#core.room().slice(0, length), ++this.#turn));
    // It was given up.
    else this.#isolate.changed(time);
    this.look(time, false);
  }

  async #exchange(request: Uint8Array<ArrayBuffer>, turn: number): Promise<void> {
    let grant: Uint8Array | undefined;
    let why: unknown;
    try {
      grant = await this.#carry(this.#isolate.key, request);
    } catch (error) {
      why = error;
    }
    if (this.#closed) return;
    const time = this.#now();
    if (turn === this.#turn) this.#isAway = false;
    if (!this.#hears(grant, time)) {
      if (turn === this.#turn) this.#core.miss(this.#isolate.gate, time);
      this.#missed(why);
    }
    this.#isolate.changed(time);
    this.look(time, false);
  }

  #hears(grant: Uint8Array | undefined, time: number): boolean {
    const room = this.#core.room();
    if (!grant?.length || grant.length > room.length) return false;
    room.set(grant);
    return !!this.#core.hear(this.#isolate.gate, grant.length, this.#isolate.wanting(), time);
  }
}

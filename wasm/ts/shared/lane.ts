/**
 * A lane whose calls are sent with leases: either lane class. It sends its requests when they are due, and receives the
 * answers.
 *
 * If timers end with the request that set them, the carrier of a request may be gone: then the next
 * call that checks takes over.
 */

import { Rejected, TidegateError } from "../errors.js";
import type { Lanes } from "../gate.js";
import type { Call, House, Lane } from "../lane.js";
import { delay } from "../wait.js";
import type { Carrier, Keep } from "./carrier.js";
import type { LeaseCore } from "./core.js";

/** A lane that implements waiting. */
interface SolidLane extends Lane {
  wait(call: Call): Promise<number>;
}

/** Classes of such lanes. */
export interface SolidLanes {
  new (key: string, gate: number, house: House): SolidLane;
  readonly expiry: number;
}

/** A lane that `leased` creates. */
export interface LeasedLane extends Lane {
  /** Whether nothing is in progress, leased or requested. */
  isSpare(stale: number): boolean;
  /** Returns all leases, and pauses until a call needs one. */
  rest(): void;
}

/** A timer that is this many milliseconds late counts as lost. */
const LOST = 20;

/** After this time a new call takes over: an edge worker's request lives for at most half a minute. */
const TERM = 10_000;

/** How soon, and at least how often, a call that cannot be woken checks for an answer, ms. */
const LOOK = 5;
const OFTEN = 200;

/** The same lane class with leases. Open lanes are in `lanes`; `missed` receives errors. */
export const leased = (Kind: SolidLanes, carry: Carrier, keep: Keep, lanes: Set<LeasedLane>, missed: (key: string, error: unknown) => void): Lanes => {
  /** The last lane found without leases. */
  let spare: LeasedLane | undefined;

  class Leased extends Kind {
    readonly #core: LeaseCore;
    /** When the timer fires, which timer it is, and when the chain of timers began. */
    #wakes = -Infinity;
    #timer: { ref?(): void; unref?(): void } | undefined;
    #began = -Infinity;
    /** Whether a request is about to be sent, and the one that is in flight. */
    #soon = false;
    #away: Uint8Array | undefined;
    /** Why a request has failed that had been given up. */
    #late: unknown;
    /** Whether the latest request was not answered. */
    #isCut = false;

    constructor(key: string, gate: number, house: House) {
      super(key, gate, house);
      this.#core = house.core as LeaseCore;
      lanes.add(this);
    }

    /** How many calls wait for a lease. */
    #wanting(): number {
      // Removes calls at the front that never woke.
      super.isIdle();
      return this.waiting;
    }

    /** Leases are lost with their lane, so lanes without leases are removed first. */
    override isIdle(stale = -Infinity): boolean {
      if (!super.isIdle(stale)) return false;
      if (this.isSpare(stale)) return true;
      if (!spare?.isSpare(stale)) spare = [...lanes].find((lane) => lane.isSpare(stale));
      return !spare;
    }

    isSpare(stale: number): boolean {
      return !this.#isAsking && !this.#core.available_leases(this.gate) && !this.closed && super.isIdle(stale);
    }

    /** Milliseconds until a call without a lease should check again: nothing changes before an answer. */
    patience(time: number): number {
      return this.#isAsking ? LOOK : Math.min(Math.max(this.#wakes - time, LOOK), OFTEN);
    }

    override take(requests: number, tokens: number): number {
      check(requests, tokens);
      return this.#looked(super.take(requests, tokens));
    }

    override join(call: Call, time: number): number {
      check(call.requests, call.tokens);
      return this.#looked(super.join(call, time));
    }

    protected override next(time: number): number {
      return this.#looked(super.next(time));
    }

    #looked(answer: number): number {
      this.#look(this.house.now(), true);
      return answer;
    }

    override learn(permit: number, outcome: number): number {
      const time = super.learn(permit, outcome);
      if (!this.closed) this.#look(time, true);
      return time;
    }

    rest(): void {
      const request = this.#leave();
      if (!request) return;
      this.#away = request;
      keep(this.#exchange(request));
    }

    /** Sends the last request, which returns all leases, without waiting for the answer. */
    override close(): void {
      if (!lanes.delete(this)) return;
      this.#release();
      const request = this.#leave();
      if (request) keep(this.#send(request).catch(() => {}));
      super.close();
    }

    /** Whether an answer is expected, which may bring leases. */
    get #isAsking(): boolean {
      return this.#soon || !!this.#away;
    }

    /** Called after any change of when a request is due, by a new call or by its timers. */
    #look(time: number, fresh: boolean): void {
      const due = this.#core.request_at(this.gate);
      // NaN: no request is due until a call asks or settles.
      if (due <= time) {
        // Requests of one turn are combined.
        if (!this.#soon) queueMicrotask(() => this.#ask());
        this.#soon = true;
      } else if (due > time) this.#sleep(due, time, fresh);
    }

    #leave(): Uint8Array<ArrayBuffer> | undefined {
      const length = this.#core.leave(this.gate, this.house.now());
      return length ? this.#core.room().slice(0, length) : undefined;
    }

    #sleep(due: number, time: number, fresh: boolean): void {
      // While a request is in flight, its sender continues when the answer arrives.
      const stale = fresh && !this.#isAsking && time - this.#began > TERM;
      if (this.#wakes <= due && this.#wakes + LOST > time && !stale) return this.#hold();
      if (stale) this.#began = time;
      this.#release();
      this.#wakes = due;
      keep(
        new Promise<void>((end) => {
          const timer: unknown = this.house.timers.setTimeout(() => {
            if (timer === this.#timer) {
              this.#wakes = -Infinity;
              this.#look(this.house.now(), false);
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
      if (this.#isCut && !this.#wanting()) this.#timer?.unref?.();
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
      if (this.closed) return;
      const time = this.house.now();
      const length = this.#core.request(this.gate, this.#wanting(), time);
      if (length > 0) {
        const request = this.#core.room().slice(0, length);
        this.#away = request;
        keep(this.#exchange(request));
      }
      if (length < 0) this.#misses(time, this.#late ?? new TidegateError("AWAY", "no answer arrived in time"));
      // Never retry at once: a clock that stands still may stay just before the instant that is due.
      const due = this.#core.request_at(this.gate);
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
      if (this.closed) return;
      const time = this.house.now();
      const isLatest = request === this.#away;
      if (this.#hears(grant, time)) {
        if (isLatest) this.#away = undefined;
        this.#isCut = false;
        this.#late = undefined;
        this.changed(time);
      } else if (isLatest) {
        this.#core.miss(this.gate, time);
        this.#misses(time, why);
      } else this.#late = why;
      this.#look(time, false);
    }

    async #send(request: Uint8Array<ArrayBuffer>): Promise<Uint8Array | undefined> {
      return carry(this.key, request, (error) => missed(this.key, error));
    }

    /** Nothing is in flight any more. */
    #misses(time: number, why: unknown): void {
      this.#away = this.#late = undefined;
      this.#isCut = true;
      missed(this.key, why);
      this.changed(time);
    }

    #hears(grant: Uint8Array | undefined, time: number): boolean {
      const room = this.#core.room();
      if (!grant?.length || grant.length > room.length) return false;
      room.set(grant);
      return !!this.#core.hear(this.gate, grant.length, this.#wanting(), time);
    }
  }
  return Leased;
};

function check(requests: number, tokens: number): void {
  if (requests !== 1 || tokens) throw new Rejected("TOO_BIG", "a shared budget counts calls: omit the option cost");
}

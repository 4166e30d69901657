/**
 * Carries the requests of one process to the holder of the budgets. If there is none, this process
 * becomes the holder.
 */

import { Closed, TidegateError } from "../errors.js";
import type { BudgetStats } from "../shared/budgets.js";
import type { Desks } from "../shared/held.js";
import { Ended, Line } from "./line.js";
import { unusable, type Place } from "./place.js";
import { Seat } from "./seat.js";

/** Attempts to find or take the seat while others do the same. */
const TRIES = 5;

/** The system's errors if no process listens: a dead process's socket, no socket, or one that was just moved. */
const NOBODY = ["ECONNREFUSED", "ENOENT", "ECONNRESET"];

/** The target of requests: this process's own seat, or a connection. */
type Way = Seat | Line;

export class Post {
  readonly #place: Place;
  readonly #desks: Desks;
  #way: Way | undefined;
  #opening: Promise<Way> | undefined;
  #closed = false;

  constructor(place: Place, desks: Desks) {
    this.#place = place;
    this.#desks = desks;
  }

  /** The counters of a key's budget, if this process holds it. */
  budget(key: string): BudgetStats | undefined {
    return this.#way instanceof Seat && this.#way.isHeld ? this.#way.stats(key) : undefined;
  }

  close(): void {
    this.#closed = true;
    if (this.#way) leave(this.#way);
    this.#way = undefined;
  }

  /** Sends a request to the holder of the seat. If none answers, this process takes the seat. */
  async carry(key: string, request: Uint8Array<ArrayBuffer>): Promise<Uint8Array | undefined> {
    let silent: bigint | undefined;
    for (let tries = 0; ; tries++) {
      const way = this.#open ?? (await this.#find(silent));
      try {
        const { standing } = this.#desks;
        if (way instanceof Line && way.isOpen && standing.replaces(way.policy, request)) way.replace(standing.claim());
        if (way instanceof Line) return await way.ask(key, request);
        const grant = way.answer(key, request);
        if (way.isHeld) return grant;
      } catch (why) {
        if (!(why instanceof Ended) || tries === TRIES) throw why;
        if (why.isSilent) silent = (way as Line).to;
      }
    }
  }

  /** The present target, if it is usable. */
  get #open(): Way | undefined {
    const way = this.#way;
    return (way instanceof Line ? way.isOpen : way?.isHeld) ? way : undefined;
  }

  /** Finds the holder of the seat or takes the seat. `silent` is a holder that did not answer. */
  #find(silent: bigint | undefined): Promise<Way> {
    return (this.#opening ??= this.#search(silent).finally(() => (this.#opening = undefined)));
  }

  #use(way: Way): Way {
    if (this.#closed) {
      leave(way);
      throw new Closed();
    }
    return (this.#way = way);
  }

  async #search(silent: bigint | undefined): Promise<Way> {
    const place = this.#place;
    if (this.#closed) throw new Closed();
    if (this.#way instanceof Seat && !this.#way.hasLeft) this.#desks.standing.lost();
    this.#way = undefined;
    place.open();
    for (let tries = 0; tries < TRIES; tries++) {
      const found = place.look();
      if (found === undefined || found !== silent) {
        try {
          return this.#use(await Line.open(place.path, found));
        } catch (error) {
          if (!NOBODY.includes((error as { code?: string }).code ?? "")) throw unusable(`no process answers at ${place.path}`, error);
        }
      }
      try {
        const seat = await Seat.take(place, this.#desks, found);
        if (seat) return this.#use(seat);
      } catch (error) {
        throw unusable(`the socket ${place.path} cannot be made`, error);
      }
    }
    throw new TidegateError("AWAY", `other processes keep taking the socket ${place.path}`);
  }
}

function leave(way: Way): void {
  if (way instanceof Seat) way.leave();
  else way.end(new Closed());
}

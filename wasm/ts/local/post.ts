/**
 * Carries the requests of one process to the holder of the budgets. If there is none, this process
 * becomes the holder.
 */

import { Closed, TidegateError } from "../errors.js";
import type { Budgets } from "../shared/budgets.js";
import type { Standing } from "../shared/standing.js";
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
  #way: Way | undefined;
  #opening: Promise<Way> | undefined;
  /** Whether there was a holder: its files may have been deleted since. */
  #hadHolder = false;
  #closed = false;

  constructor(private readonly place: Place, private readonly budgets: Budgets, private readonly standing: Standing) {}

  /** Notices whether another process has taken the seat. */
  look(): void {
    void this.#way?.isOpen;
  }

  close(): void {
    this.#closed = true;
    this.#way?.leave();
    this.#way = undefined;
  }

  /** Sends a request to the holder of the seat. If none answers, this process takes the seat. */
  async carry(key: string, request: Uint8Array<ArrayBuffer>): Promise<Uint8Array | undefined> {
    let silent: bigint | undefined;
    for (let tries = 0; ; tries++) {
      const way = this.#way?.isOpen ? this.#way : await this.#find(silent);
      try {
        if (way instanceof Line && way.isOpen && this.standing.replaces(way.policy, request)) way.replace(this.standing.claim());
        return await way.ask(key, request);
      } catch (why) {
        if (!(why instanceof Ended) || tries === TRIES) throw why;
        if (why.isSilent) silent = (way as Line).to;
      }
    }
  }

  /** Finds the holder of the seat or takes the seat. `silent` is a holder that did not answer. */
  #find(silent: bigint | undefined): Promise<Way> {
    return (this.#opening ??= this.#search(silent).finally(() => (this.#opening = undefined)));
  }

  #use(way: Way): Way {
    if (this.#closed) {
      way.leave();
      throw new Closed();
    }
    this.#hadHolder = true;
    return (this.#way = way);
  }

  async #search(silent: bigint | undefined): Promise<Way> {
    const place = this.place;
    if (this.#closed) throw new Closed();
    if (this.#way instanceof Seat && !this.#way.hasLeft) this.standing.lost();
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
        const seat = await Seat.take(place, this.budgets, this.standing, found, found === undefined && !this.#hadHolder);
        if (seat) return this.#use(seat);
      } catch (error) {
        throw unusable(`the socket ${place.path} cannot be made`, error);
      }
    }
    throw new TidegateError("AWAY", `other processes keep taking the socket ${place.path}`);
  }
}

/**
 * Carries the requests of one process to the holder of the budgets. If there is none, this process
 * becomes the holder.
 */

import { Closed, TidegateError } from "../errors.js";
import { leaves, type Carrier } from "../shared/carrier.js";
import type { BudgetOptions, LocalStats } from "./budgets.js";
import { Ended, Line } from "./line.js";
import { unusable } from "./place.js";
import { Seat } from "./seat.js";

/** Attempts to find or take the seat while others do the same. */
const TRIES = 5;

/** The system's errors if no process listens: a dead process's socket, no socket, or one that was just moved. */
const NOBODY = ["ECONNREFUSED", "ENOENT", "ECONNRESET"];

/** The target of requests: this process's own seat, or a connection. */
type Way = Seat | Line;

export class Post {
  readonly #options: BudgetOptions;
  #way: Way | undefined;
  #opening: Promise<Way> | undefined;
  /** Requests in progress. */
  readonly #sending = new Set<Promise<unknown>>();
  #closed = false;

  constructor(options: BudgetOptions) {
    this.#options = options;
  }

  /** Sends a request to the holder of the seat. If none answers, this process takes the seat. */
  readonly carry: Carrier = (key, request) => {
    const sending = this.#carry(key, request);
    this.#sending.add(sending);
    const sent = () => this.#sending.delete(sending);
    sending.then(sent, sent);
    return sending;
  };

  /** The counters of a key's budget, if this process holds it. */
  budget(key: string): LocalStats | undefined {
    return this.#way instanceof Seat && this.#way.isHeld ? this.#way.stats(key) : undefined;
  }

  /** Closes after the requests in progress, which may be the last ones. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.allSettled(this.#sending);
    const way = this.#way;
    this.#way = undefined;
    if (way instanceof Seat) way.leave();
    else way?.end(new Closed());
  }

  async #carry(key: string, request: Uint8Array<ArrayBuffer>): Promise<Uint8Array | undefined> {
    let silent: bigint | undefined;
    for (let tries = 0; ; tries++) {
      const way = this.#open ?? (await this.#find(silent));
      try {
        // A holder whose policy is replaced loses the seat like one that does not answer.
        if (way instanceof Line && way.to !== undefined && way.policy && !leaves(request) && this.#options.standing.replaces(way.policy)) way.end(new Ended(true));
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

  async #search(silent: bigint | undefined): Promise<Way> {
    const { place, standing } = this.#options;
    if (this.#closed && !this.#way) throw new Closed();
    if (this.#way instanceof Seat) {
      standing.lost();
      this.#way = undefined;
    }
    place.open();
    for (let tries = 0; tries < TRIES; tries++) {
      const found = place.look();
      if (found === undefined || found !== silent) {
        try {
          return (this.#way = await Line.open(place.path, found));
        } catch (error) {
          if (!NOBODY.includes((error as { code?: string }).code ?? "")) throw unusable(`no process answers at ${place.path}`, error);
        }
      }
      try {
        const seat = await Seat.take(this.#options, found);
        if (seat) return (this.#way = seat);
      } catch (error) {
        throw unusable(`the socket ${place.path} cannot be made`, error);
      }
    }
    throw new TidegateError("AWAY", `other processes keep taking the socket ${place.path}`);
  }
}

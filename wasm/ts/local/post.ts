/** The post: carries the requests of one process to whoever holds the budgets, and holds them where nobody does. */

import { Closed, TidegateError } from "../errors.js";
import type { Carrier } from "../shared/carrier.js";
import type { BudgetOptions, LocalStats } from "./budgets.js";
import { Ended, Line } from "./line.js";
import { unusable } from "./place.js";
import { Seat } from "./seat.js";

/** Whoever finds that another was faster looks again, so often. */
const TRIES = 5;

/** What a system says where nobody listens: a dead process's socket, none at all, or one that was moved meanwhile. */
const NOBODY = ["ECONNREFUSED", "ENOENT", "ECONNRESET"];

/** Where requests go: the seat is this process's own. */
type Way = Seat | Line;

/** See the module. */
export class Post {
  readonly #options: BudgetOptions;
  #way: Way | undefined;
  #opening: Promise<Way> | undefined;
  /** What is on its way. */
  readonly #sending = new Set<Promise<unknown>>();
  #closed = false;

  constructor(options: BudgetOptions) {
    this.#options = options;
  }

  /** Each request goes to the holder of the seat; where there is none that answers, this process is it from now on. */
  readonly carry: Carrier = (key, request) => {
    const sending = this.#carry(key, request);
    this.#sending.add(sending);
    const sent = () => this.#sending.delete(sending);
    sending.then(sent, sent);
    return sending;
  };

  /** What the budget of a key has counted, where this process holds it. */
  budget(key: string): LocalStats | undefined {
    return this.#way instanceof Seat && this.#way.isHeld ? this.#way.stats(key) : undefined;
  }

  /** Ends after what is on its way, which may be a good-bye. */
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
        if (way instanceof Line) return await way.ask(key, request);
        const grant = way.answer(key, request);
        if (way.isHeld) return grant;
      } catch (why) {
        if (!(why instanceof Ended) || tries === TRIES) throw why;
        if (why.isSilent) silent = (way as Line).to;
      }
    }
  }

  /** The way that is open. */
  get #open(): Way | undefined {
    const way = this.#way;
    return (way instanceof Line ? way.isOpen : way?.isHeld) ? way : undefined;
  }

  /** Finds who holds the seat, or takes it: of `silent` nobody has heard. */
  #find(silent: bigint | undefined): Promise<Way> {
    return (this.#opening ??= this.#search(silent).finally(() => (this.#opening = undefined)));
  }

  async #search(silent: bigint | undefined): Promise<Way> {
    const { place } = this.#options;
    if (this.#closed && !this.#way) throw new Closed();
    place.open();
    for (let tries = 0; tries < TRIES; tries++) {
      const found = place.look();
      if (found === undefined || found !== silent) {
        try {
          return (this.#way = await Line.open(place.path, found));
        } catch (error) {
          if (!NOBODY.includes((error as { code?: string }).code ?? "")) throw unusable(`nobody can be reached at ${place.path}`, error);
        }
      }
      try {
        const seat = await Seat.take(this.#options, found);
        if (seat) return (this.#way = seat);
      } catch (error) {
        throw unusable(`the socket ${place.path} cannot be made`, error);
      }
    }
    throw new TidegateError("AWAY", `others take the socket ${place.path} again and again`);
  }
}

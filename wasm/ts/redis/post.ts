/**
 * Carries the requests of one process to the holder of each budget. If a budget has no holder, this
 * process becomes it.
 */

import { Closed, TidegateError } from "../errors.js";
import { leaves, type Carrier } from "../shared/carrier.js";
import { Desk, type DeskStats } from "../shared/desk.js";
import type { Desks } from "../shared/held.js";
import type { Told } from "../shared/standing.js";
import { bytes, text } from "../shared/text.js";
import { Box } from "./box.js";
import { Script, Silence, Wire, whenEnded, within, type RedisClient } from "./client.js";
import { ASK } from "./scripts.js";
import { Seat, TERM } from "./seat.js";

const ask = new Script(ASK);

/** The number of keys whose holders' records are remembered. */
const MOST = 1_000;

/** The longest time that closing waits for Redis, ms. */
const PATIENCE = 1_000;

/** A script without an answer for this many milliseconds delays the next request. */
const QUIET = 600;

/** A request in progress. */
interface Waiting {
  readonly id: string;
  readonly done: (grant: Uint8Array | undefined) => void;
  readonly fail: (why: unknown) => void;
}

/** Options of a post. */
export interface PostOptions extends Desks {
  readonly client: RedisClient;
  readonly prefix: string;
}

export class Post {
  readonly #options: PostOptions;
  readonly #wire: Wire;
  readonly #box: Box;
  readonly #name: string;
  readonly #seats = new Map<string, Seat>();
  /** By key: the latest request, and what is being sent to Redis. */
  readonly #waiting = new Map<string, Waiting>();
  readonly #sending = new Map<string, Promise<unknown>>();
  /** By key: the holder's last record and when it arrived, for a Redis that has lost its data. */
  readonly #told = new Map<string, { record: Uint8Array; at: number }>();
  /** By key: a holder's policy that differs from this program's. */
  readonly #met = new Map<string, Told>();
  readonly #forget: () => void;
  #count = 0;
  #closed = false;

  constructor(options: PostOptions) {
    this.#options = options;
    this.#name = `${options.prefix}:box:${crypto.randomUUID()}`;
    const take = (message: string[]) => void this.#take(message).catch(() => {});
    const failed = (why: unknown) => {
      for (const { fail } of this.#waiting.values()) fail(away(`delivers no answers: ${why instanceof Error ? why.message : String(why)}`));
      this.#waiting.clear();
    };
    this.#wire = new Wire(options.client);
    this.#box = new Box(options.client, this.#name, take, failed);
    // A program that closes its client ends, even if it forgets the gate.
    this.#forget = whenEnded(options.client, () => {
      this.#box.close();
      this.#wire.close();
    });
  }

  /** Sends a request to the holder of its key's budget. If there is none, this process takes the seat. */
  readonly carry: Carrier = async (key, request) => {
    if (this.#closed) throw new Closed();
    if (!this.#wire.isReady) throw away("is not connected");
    const { silence } = this.#wire;
    // Nobody waits for the earlier answers any more, and the reason is known.
    if (silence > QUIET) throw new Silence(silence);
    const seat = this.#seats.get(key);
    if (seat) {
      const grant = await seat.answer(request);
      // A gate that closes frees the seat with its last request and must not take it again.
      if (seat.isHeld || this.#closed) return grant;
    }
    // Redis may receive them much later, when they are useless.
    if (this.#sending.has(key)) throw new Silence(this.#wire.silence);
    return this.#ask(key, request);
  };

  /** The counters of a key's budget, if this process holds it. */
  budget(key: string): DeskStats | undefined {
    return this.#seats.get(key)?.stats();
  }

  /** Frees all seats after the requests in progress, which may be the last ones. */
  async close(): Promise<void> {
    this.#closed = true;
    // The next holder answers later requests.
    this.#box.close();
    const ends = [...this.#sending.values(), ...[...this.#seats.values()].map((seat) => seat.leave())];
    await within(PATIENCE, Promise.allSettled(ends)).catch(() => {});
    this.#wire.close();
    this.#forget();
    this.#waiting.clear();
  }

  async #ask(key: string, request: Uint8Array): Promise<Uint8Array | undefined> {
    this.#box.open();
    const id = String(++this.#count);
    const answer = new Promise<Uint8Array | undefined>((done, fail) => {
      // One at a time: the previous one was given up.
      this.#waiting.get(key)?.done(undefined);
      this.#waiting.set(key, { id, done, fail });
    });
    // It may fail after all callers have stopped waiting.
    answer.catch(() => {});
    const sending = this.#send(key, id, request);
    this.#sending.set(key, sending);
    try {
      await sending;
    } finally {
      this.#sending.delete(key);
    }
    const seat = this.#seats.get(key);
    return seat ? seat.answer(request) : answer;
  }

  /** Sends a request, or takes the seat. */
  async #send(key: string, id: string, request: Uint8Array): Promise<void> {
    const { prefix, policy, standing, load, seed, now } = this.#options;
    const met = this.#met.get(key);
    const replaces = met && !leaves(request) && standing.replaces(met);
    const claim = standing.claim();
    const turn = `${id}.${claim.since}.${claim.digest}`;
    const keys = [`${prefix}:seat:${key}`, `${prefix}:budget:${key}`, this.#name];
    const reply = await this.#wire.run(ask, keys, [turn, String(TERM), key, id, text(request), claim.text, replaces ? "1" : ""]);
    const [record, away, ended, its] = (reply as unknown[]).map(String);
    this.#met.delete(key);
    if (record === "sent") {
      const other = { since: Number(away), digest: Number(ended), text: its! };
      if (other.digest !== claim.digest) this.#met.set(key, other);
      standing.replaces(other);
      return;
    }
    standing.hold(claim);
    const told = this.#told.get(key);
    const from = record
      ? { record: known(record), away: Math.max(Number(away), 0), ended: !!Number(ended) }
      : told && { record: told.record, away: performance.now() - told.at, ended: false };
    const desk = new Desk(load, policy, { from, seed, now });
    const lost = (hasLeft: boolean) => {
      if (!hasLeft) standing.lost();
      if (this.#seats.get(key) === seat) this.#seats.delete(key);
      this.#remember(key, desk.snapshot());
    };
    const seat: Seat = new Seat(this.#wire, key, keys, turn, desk, (policy.heartbeat ?? 0) * 4, lost);
    this.#seats.set(key, seat);
    if (this.#closed) await seat.leave();
  }

  /** Handles a message: a request from another process's box, or an answer, which has no box. */
  async #take([box = "", key = "", id = "", body = "", why, record]: string[]): Promise<void> {
    if (box) {
      // Other processes may learn of our seat before we do.
      if (!this.#seats.has(key)) await this.#sending.get(key);
      await this.#seats.get(key)?.send(bytes(body), { box, id });
      return;
    }
    if (record) this.#remember(key, bytes(record));
    const waiting = this.#waiting.get(key);
    if (waiting?.id !== id) return;
    const grant = bytes(body);
    this.#waiting.delete(key);
    if (why) waiting.fail(new TidegateError("MESSAGE", `the holder of the budget of ${key || "the gate"} says: ${why}`));
    else waiting.done(grant);
  }

  #remember(key: string, record: Uint8Array): void {
    this.#told.delete(key);
    this.#told.set(key, { record, at: performance.now() });
    for (const oldest of this.#told.keys()) {
      if (this.#told.size <= MOST) break;
      this.#told.delete(oldest);
    }
  }
}

/** A record from Redis. One that was overwritten only says that there may be leases. */
function known(record: string): Uint8Array {
  try {
    return bytes(record);
  } catch {
    return new Uint8Array();
  }
}

function away(what: string): TidegateError {
  return new TidegateError("AWAY", `Redis ${what}. Calls continue within the last share until it answers`);
}

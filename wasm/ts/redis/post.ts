/**
 * Carries the requests of one process to the holder of each budget. If a budget has no holder, this
 * process becomes it.
 */

import { Closed, TidegateError } from "../errors.js";
import { Asked } from "../shared/asked.js";
import type { Budgets } from "../shared/budgets.js";
import { PATIENCE, within } from "../shared/held.js";
import type { Standing, Told } from "../shared/standing.js";
import { bytes, text } from "../shared/text.js";
import { Box } from "./box.js";
import { Script, Silence, Wire, whenEnded, type RedisClient } from "./client.js";
import { ASK } from "./scripts.js";
import { Seat, TERM } from "./seat.js";

const ask = new Script(ASK);

/** The number of keys whose holders' records are remembered. */
const MOST = 1_000;

/** A script without an answer for this many milliseconds delays the next request. */
const QUIET = 600;

export class Post {
  readonly #wire: Wire;
  readonly #box: Box;
  readonly #name: string;
  readonly #seats = new Map<string, Seat>();
  readonly #asked = new Asked();
  /** By key: what is being sent to Redis. */
  readonly #sending = new Map<string, Promise<unknown>>();
  /** By key: the holder's last record and when it arrived, for a Redis that has lost its data. */
  readonly #told = new Map<string, { record: Uint8Array; at: number }>();
  /** By key: a holder's policy that differs from this program's. */
  readonly #met = new Map<string, Told>();
  readonly #forget: () => void;
  #closed = false;

  constructor(client: RedisClient, private readonly prefix: string, private readonly budgets: Budgets, private readonly standing: Standing) {
    // The clock of the server, which the first answer tells.
    standing.today = () => 0;
    this.#name = `${prefix}:box:${crypto.randomUUID()}`;
    const take = (message: string[]) => void this.#take(message).catch(() => {});
    const failed = (why: unknown) => {
      for (const { fail } of this.#asked.takeAll()) fail(away(`delivers no answers: ${why instanceof Error ? why.message : String(why)}`));
    };
    this.#wire = new Wire(client);
    this.#box = new Box(client, this.#name, take, failed);
    // A program that closes its client ends, even if it forgets the gate.
    this.#forget = whenEnded(client, () => {
      this.#box.close();
      this.#wire.close();
    });
  }

  /** Sends a request to the holder of its key's budget. If there is none, this process takes the seat. */
  async carry(key: string, request: Uint8Array<ArrayBuffer>): Promise<Uint8Array | undefined> {
    if (!this.#wire.isReady) throw away("is not connected");
    const { silence } = this.#wire;
    // Nobody waits for the earlier answers any more, and the reason is known.
    if (silence > QUIET) throw new Silence(silence);
    const seat = this.#seats.get(key);
    if (seat) {
      const grant = await seat.answer(request);
      if (seat.isHeld) return grant;
    }
    // Redis may receive them much later, when they are useless.
    if (this.#sending.has(key)) throw new Silence(this.#wire.silence);
    return this.#ask(key, request);
  }

  async close(): Promise<void> {
    this.#closed = true;
    // The next holder answers later requests.
    this.#box.close();
    const ends = [...this.#seats.values()].map((seat) => seat.leave());
    await within(PATIENCE, Promise.allSettled(ends)).catch(() => {});
    this.#wire.close();
    this.#forget();
    for (const { done } of this.#asked.takeAll()) done(undefined);
  }

  async #ask(key: string, request: Uint8Array): Promise<Uint8Array | undefined> {
    if (this.#closed) throw new Closed();
    this.#box.open();
    const { id, answer } = this.#asked.ask();
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
  async #send(key: string, id: number, request: Uint8Array): Promise<void> {
    const { standing } = this;
    const met = this.#met.get(key);
    const may = this.budgets.isFull(this.#sending.size) ? "never" : met && standing.replaces(met, request) ? `${met.since}.${met.digest}` : standing.hasJoined ? "" : "new";
    const claim = standing.claim();
    const turn = (since: unknown) => `${id}.${String(since)}.${claim.digest}`;
    const keys = [`${this.prefix}:seat:${key}`, `${this.prefix}:budget:${key}`, this.#name];
    const reply = (await this.#wire.run(ask, keys, [turn(claim.since), String(TERM), key, String(id), text(request), claim.text, may])) as unknown[];
    this.#met.delete(key);
    const [record, away, ended, its, now] = reply.map(String);
    if (record === "full") throw this.budgets.full();
    const ahead = Number(now) - performance.now();
    standing.today = () => performance.now() + ahead;
    if (record === "sent") {
      const other = { since: Number(away), digest: Number(ended), text: its! };
      if (other.digest !== claim.digest) this.#met.set(key, other);
      standing.replaces(other, request);
      return;
    }
    standing.hold({ ...claim, since: Number(its) });
    const told = this.#told.get(key);
    const past = record
      ? { record: known(record), away: Math.max(Number(away), 0), ended: !!Number(ended) }
      : told && { record: told.record, away: performance.now() - told.at, ended: false };
    this.budgets.open(key, past);
    const lost = (hasLeft: boolean) => {
      if (!hasLeft) standing.lost();
      // Another one of this process may have been opened meanwhile.
      if (this.#seats.get(key) !== seat) return;
      this.#seats.delete(key);
      this.#remember(key, this.budgets.close(key)!);
    };
    const seat: Seat = new Seat(this.#wire, key, keys, turn(its), this.budgets, lost);
    this.#seats.set(key, seat);
    if (this.#closed) await seat.leave();
  }

  /** Handles a message: a request from another process's box, or an answer, which has no box. */
  async #take([box = "", key = "", id = "", body = "", why, record]: string[]): Promise<void> {
    if (box) {
      // Other processes may learn of our seat before we do.
      if (!this.#seats.has(key)) await this.#sending.get(key);
      await this.#seats.get(key)?.send(bytes(body), box, id);
      return;
    }
    if (record) this.#remember(key, bytes(record));
    const grant = bytes(body);
    const waiting = this.#asked.take(Number(id));
    if (why) waiting?.fail(new TidegateError("MESSAGE", `the holder of the budget of ${key || "the gate"} says: ${why}`));
    else waiting?.done(grant);
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

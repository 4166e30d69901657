/** The post: carries the requests of one process to whoever holds each budget, and holds those that nobody does. */

import type { Exports } from "../core.js";
import { Closed, TidegateError } from "../errors.js";
import type { Carrier } from "../shared/carrier.js";
import { Desk, type DeskOptions, type DeskStats } from "../shared/desk.js";
import type { SharedPolicy } from "../shared/policy.js";
import { bytes, text } from "../shared/text.js";
import { Box } from "./box.js";
import { isReady, Script, within, type RedisClient } from "./client.js";
import { ASK } from "./scripts.js";
import { Seat, TERM } from "./seat.js";

const ask = new Script(ASK);

/** Of so many keys it remembers what their holders wrote down last. */
const MOST = 1_000;

/** Who closes waits no longer than so many milliseconds for Redis. */
const PATIENCE = 1_000;

/** A request on its way. */
interface Waiting {
  readonly id: string;
  readonly done: (grant: Uint8Array | undefined) => void;
  readonly fail: (why: unknown) => void;
}

/** What a post is made with. */
export interface PostOptions extends Pick<DeskOptions, "seed" | "now"> {
  readonly client: RedisClient;
  readonly prefix: string;
  readonly policy: SharedPolicy;
  /** Gives an instance of the module that is one desk's alone. */
  readonly load: () => Exports;
}

/** See the module. */
export class Post {
  readonly #options: PostOptions;
  readonly #box: Box;
  readonly #name: string;
  readonly #seats = new Map<string, Seat>();
  /** By key: the latest request, and what is being sent to Redis. */
  readonly #waiting = new Map<string, Waiting>();
  readonly #sending = new Map<string, Promise<unknown>>();
  /** By key: what its holder has told, and when that came. A Redis that begins anew knows nothing. */
  readonly #told = new Map<string, { record: string; at: number }>();
  #count = 0;
  #closed = false;

  constructor(options: PostOptions) {
    this.#options = options;
    this.#name = `${options.prefix}:box:${crypto.randomUUID()}`;
    this.#box = new Box(options.client, this.#name, (message) => void this.#take(message).catch(() => {}));
  }

  /** Each request goes to the holder of its key's budget; where there is none, this process is it from now on. */
  readonly carry: Carrier = async (key, request) => {
    if (this.#closed) throw new Closed();
    const { client } = this.#options;
    if (!isReady(client)) throw away("is not connected");
    const seat = this.#seats.get(key);
    if (seat) {
      const grant = await seat.answer(request);
      // A gate that closes gives the seat up beside its good-bye, and must not take it again.
      if (seat.isHeld || this.#closed) return grant;
    }
    // Redis may hear all of them later, when they are of no use to anybody.
    if (this.#sending.has(key)) throw away("has not taken the request before this one yet");
    return this.#ask(key, request);
  };

  /** What the budget of a key has counted, where this process holds it. */
  budget(key: string): DeskStats | undefined {
    return this.#seats.get(key)?.stats();
  }

  /** Gives up all that it holds, after what is on its way, which may be a good-bye. */
  async close(): Promise<void> {
    this.#closed = true;
    // Who is next answers what comes from now on.
    this.#box.close();
    const ends = [...this.#sending.values(), ...[...this.#seats.values()].map((seat) => seat.leave())];
    await within(PATIENCE, Promise.allSettled(ends)).catch(() => {});
    this.#waiting.clear();
  }

  async #ask(key: string, request: Uint8Array): Promise<Uint8Array | undefined> {
    this.#box.open();
    const id = String(++this.#count);
    const answer = new Promise<Uint8Array | undefined>((done, fail) => {
      // There is one at a time: the one before was given up.
      const before = this.#waiting.get(key);
      if (this.#box.why) before?.fail(this.#box.why);
      else before?.done(undefined);
      this.#waiting.set(key, { id, done, fail });
    });
    // It may fail when nobody waits for it any more.
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
    const { client, prefix, policy, load, seed, now } = this.#options;
    const keys = [`${prefix}:seat:${key}`, `${prefix}:budget:${key}`, this.#name];
    const reply = await ask.run(client, keys, [id, String(TERM), key, id, text(request)]);
    if (!Array.isArray(reply)) return;
    const [record, away, ended] = reply.map(String);
    const told = this.#told.get(key);
    const from = record
      ? { record: bytes(record), away: Math.max(Number(away), 0), ended: !!Number(ended) }
      : told && { record: bytes(told.record), away: performance.now() - told.at, ended: false };
    const desk = new Desk(load, policy, { from, seed, now });
    const lost = () => {
      if (this.#seats.get(key) === seat) this.#seats.delete(key);
      this.#remember(key, text(desk.snapshot()));
    };
    const seat: Seat = new Seat(client, key, keys, id, desk, (policy.heartbeat ?? 0) * 4, lost);
    this.#seats.set(key, seat);
    if (this.#closed) await seat.leave();
  }

  /** A message has come: a request from a box, or an answer, which comes from none. */
  async #take([box = "", key = "", id = "", body = "", why, record]: string[]): Promise<void> {
    if (box) {
      // Others may know that the seat is ours before we do.
      if (!this.#seats.has(key)) await this.#sending.get(key);
      await this.#seats.get(key)?.send(bytes(body), { box, id });
      return;
    }
    if (record) this.#remember(key, record);
    const waiting = this.#waiting.get(key);
    if (waiting?.id !== id) return;
    this.#waiting.delete(key);
    if (why) waiting.fail(new TidegateError("MESSAGE", `whoever holds the budget of ${key || "the gate"} says: ${why}`));
    else waiting.done(bytes(body));
  }

  #remember(key: string, record: string): void {
    this.#told.delete(key);
    this.#told.set(key, { record, at: performance.now() });
    for (const oldest of this.#told.keys()) {
      if (this.#told.size <= MOST) break;
      this.#told.delete(oldest);
    }
  }
}

function away(what: string): TidegateError {
  return new TidegateError("AWAY", `Redis ${what}: calls go on within the share that was told last, and share again when it answers`);
}

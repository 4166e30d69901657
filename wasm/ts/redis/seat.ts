/**
 * The seat of a key: the desk in the process that holds the budget.
 *
 * What a desk has granted is sent, and what the desk is then is written down, by one script that does
 * neither where the seat is another's by now. So whoever takes over goes on from all that was ever
 * granted; and a process that was frozen, cut off or slow grants nothing once another has taken over,
 * however late it finds out.
 */

import { Desk, type DeskStats } from "../shared/desk.js";
import { isReady, Script, type RedisClient } from "./client.js";
import { text } from "../shared/text.js";
import { HOLD, LEAVE } from "./scripts.js";

/** A seat that is not renewed for so many milliseconds is free. */
export const TERM = 1_000;

/** It is renewed so often, by a grant or without one; and given up where nobody has asked for this long. */
const OFTEN = 250;
const IDLE = 60_000;

const hold = new Script(HOLD);
const leave = new Script(LEAVE);

/** Where to send the answer, and to which request: its box, and what it tells them apart by. */
export interface Sender {
  readonly box: string;
  readonly id: string;
}

/** See the module. */
export class Seat {
  readonly #client: RedisClient;
  readonly #key: string;
  readonly #keys: string[];
  readonly #turn: string;
  readonly #desk: Desk;
  readonly #lost: () => void;
  readonly #timer: ReturnType<typeof setInterval>;
  /** Since when nobody has asked, in renewals; how many scripts are on their way; and whether one was since the latest. */
  #idle = 0;
  #running = 0;
  #isFresh = true;
  #held = true;

  /** `keys` are those of the scripts, `turn` the number of the taking; `lost` is called once, when it is another's, or nobody's. */
  constructor(client: RedisClient, key: string, keys: string[], turn: string, desk: Desk, idle: number, lost: () => void) {
    this.#client = client;
    this.#key = key;
    this.#keys = keys;
    this.#turn = turn;
    this.#desk = desk;
    this.#lost = lost;
    this.#timer = setInterval(() => this.#renew(Math.max(IDLE, idle)), OFTEN);
    (this.#timer as { unref?(): void }).unref?.();
  }

  get isHeld(): boolean {
    return this.#held;
  }

  /** Answers a request of this process: nothing where the seat is another's, or there is nothing to send. */
  async answer(request: Uint8Array): Promise<Uint8Array<ArrayBuffer> | undefined> {
    this.#idle = 0;
    const grant = this.#desk.answer(request);
    return (await this.#hold(text(this.#desk.snapshot()))) ? grant : undefined;
  }

  /** Answers a request of another process, or tells it why not; and what is written down, for when Redis has lost that. */
  async send(request: Uint8Array, { box, id }: Sender): Promise<void> {
    this.#idle = 0;
    let grant: Uint8Array | undefined;
    let why = "";
    try {
      grant = this.#desk.answer(request);
      if (!grant) return;
    } catch (error) {
      why = error instanceof Error ? error.message : String(error);
    }
    const record = text(this.#desk.snapshot());
    await this.#hold(record, box, "", this.#key, id, grant ? text(grant) : "", why, record);
  }

  stats(): DeskStats {
    return this.#desk.stats();
  }

  /** Gives it up: whoever asks next takes it. */
  async leave(): Promise<void> {
    this.#end();
    if (isReady(this.#client)) await leave.run(this.#client, this.#keys, [this.#turn]).catch(() => {});
  }

  #renew(idle: number): void {
    if (++this.#idle * OFTEN > idle) void this.leave();
    // What is on its way renews it too; and nothing shall queue up while there is no server.
    else if (!this.#isFresh && !this.#running && isReady(this.#client)) void this.#hold("").catch(() => {});
    this.#isFresh = false;
  }

  async #hold(record: string, box = "", ...answer: string[]): Promise<boolean> {
    if (!this.#held) return false;
    this.#running++;
    this.#isFresh = true;
    try {
      const held = await hold.run(this.#client, this.#keys, [this.#turn, String(TERM), record, box, ...answer]);
      if (Number(held) !== 1) this.#end();
      return this.#held;
    } finally {
      this.#running--;
    }
  }

  #end(): void {
    if (!this.#held) return;
    this.#held = false;
    clearInterval(this.#timer);
    this.#lost();
  }
}

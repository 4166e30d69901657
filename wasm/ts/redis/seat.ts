/**
 * The seat of a key: the desk in the process that holds the budget.
 *
 * One script sends what a desk has granted and writes its record, or does neither if another
 * process has the seat. So the next holder continues from all grants, and a process that was
 * frozen, cut off or slow grants nothing once another has taken over, no matter when it notices.
 */

import type { Budgets } from "../shared/budgets.js";
import { Script, Silence, type Wire } from "./client.js";
import { text } from "../shared/text.js";
import { HOLD, LEAVE } from "./scripts.js";

/** A seat that is not renewed for this many milliseconds is free. */
export const TERM = 1_000;

/** Milliseconds between renewals, by a grant or without one. */
const OFTEN = 250;

const hold = new Script(HOLD);
const leave = new Script(LEAVE);

export class Seat {
  readonly #timer: ReturnType<typeof setInterval>;
  /** The number of running scripts, and whether one ran since the last renewal. */
  #running = 0;
  #isFresh = true;
  isHeld = true;

  /**
   * `keys` are the scripts' keys. `lost` is called once, when the
   * seat is lost or freed.
   */
  constructor(
    private readonly wire: Wire,
    private readonly key: string,
    private readonly keys: string[],
    private readonly turn: string,
    private readonly budgets: Budgets,
    private readonly lost: (hasLeft: boolean) => void,
  ) {
    this.#timer = setInterval(() => this.#renew(), OFTEN);
    (this.#timer as { unref?(): void }).unref?.();
  }

  /** Answers a request of this process: `undefined` if the seat is lost or there is nothing to send. */
  async answer(request: Uint8Array): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const granted = this.budgets.answer(this.key, request);
    return granted && (await this.#hold(text(granted.record))) ? granted.grant : undefined;
  }

  /** Answers a request, by its number, in the box of another process: with a grant or an error, and with the record, for when Redis loses it. */
  async send(request: Uint8Array, box: string, id: string): Promise<void> {
    let grant = "";
    let record = "";
    let why = "";
    try {
      const granted = this.budgets.answer(this.key, request);
      if (!granted) return;
      grant = text(granted.grant);
      record = text(granted.record);
    } catch (error) {
      why = error instanceof Error ? error.message : String(error);
    }
    await this.#hold(record, box, "", this.key, id, grant, why, record);
  }

  /** Frees the seat; the next process that asks takes it. */
  async leave(): Promise<void> {
    this.#end(true);
    if (this.wire.isReady) await this.wire.run(leave, this.keys, [this.turn]).catch(() => {});
  }

  #renew(): void {
    if (this.budgets.isIdle(this.key)) void this.leave();
    // A running script renews it too. Renewals must not queue up without a server.
    else if (!this.#isFresh && !this.#running && this.wire.isReady) void this.#hold("").catch(() => {});
    this.#isFresh = false;
  }

  async #hold(record: string, box = "", ...answer: string[]): Promise<boolean> {
    if (!this.isHeld) return false;
    this.#running++;
    this.#isFresh = true;
    try {
      const held = await this.wire.run(hold, this.keys, [this.turn, String(TERM), record, box, ...answer]);
      if (Number(held) !== 1) this.#end();
      return this.isHeld;
    } catch (why) {
      // It may still run, and then has no effect: the seat is taken again with another turn.
      if (why instanceof Silence) this.#end();
      throw why;
    } finally {
      this.#running--;
    }
  }

  #end(hasLeft = false): void {
    if (!this.isHeld) return;
    this.isHeld = false;
    clearInterval(this.#timer);
    this.lost(hasLeft);
  }
}

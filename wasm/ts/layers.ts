/**
 * Calls that count against the limits of several keys, such as those of an account and of a model.
 *
 * A call waits in the queue of one lane at a time, with its place from its arrival. When that lane admits it, it takes
 * the permits of the others. If one of them delays it, it enters that queue, and returns its permits. The core says for
 * how long it keeps them instead, because two keys in constant demand would never have room at the same time.
 */

import { Closed, PolicyError } from "./errors.js";
import type { Several } from "./gate.js";
import type { Call, Entry, House, Lane, Then } from "./lane.js";
import { checkKey, type Key, type Peek } from "./options.js";
import { after } from "./wait.js";

/** Accepts several keys. */
export const several: Several = {
  /** The lane of a key, or the lanes of several; `undefined` if there is no room for one of them. */
  lanes: (laneOf, most) => (key) => {
    if (typeof key === "string") return laneOf(key);
    const names = namesOf(key);
    if (names.length > most) throw new PolicyError(`key is a list of ${names.length} keys, but the option keys is ${most}`);
    const lanes: Lane[] = [];
    try {
      for (const name of names) {
        const lane = laneOf(name);
        if (!lane) return;
        // A busy lane is not replaced by the next one.
        lane.between++;
        lanes.push(lane);
      }
      return lanes.length > 1 ? new Layers(lanes) : lanes[0];
    } finally {
      for (const lane of lanes) lane.between--;
    }
  },

  /** The state of a key; of several, that of the one with the longest wait. */
  peek: (one) => (key = "") => {
    const longer = (a: Peek, b: Peek) => (b.wait > a.wait || (b.wait === a.wait && b.cause && !a.cause) ? b : a);
    return namesOf(key).map((name) => one(name)).reduce(longer);
  },
};

/** The keys of a call. Equal ones count once, and an empty list is the key of `run`. */
function namesOf(key: Key): string[] {
  const keys = Array.isArray(key) ? key : [key];
  for (const key of keys) checkKey(key);
  return keys.length ? [...new Set(keys)] : [""];
}

/** The lanes of one call, with its permits and its places in the queues. */
class Layers implements Entry {
  readonly house: House;
  /** The first key's lane counts attempts. */
  readonly gate: number;
  /** Events name the last key, the most specific one. */
  readonly key: string;
  readonly #lanes: readonly Lane[];
  readonly #turns: readonly number[];
  /** The call as it waits in each lane. */
  #parts: Call[] = [];
  /** Its permits. A negative number is none. */
  #permits: number[] = [];
  /** When it began to wait, and when a lane last delayed it after another one had admitted it. */
  #since = 0;
  #delayed = 0;
  /** Stops the timer that returns kept permits. */
  #stop: (() => void) | undefined;
  turns = 0;
  outcome = 0;
  used = 0;

  constructor(lanes: readonly Lane[]) {
    this.#lanes = lanes;
    this.#turns = lanes.map((lane) => lane.turns++);
    ({ house: this.house, gate: this.gate } = lanes[0]!);
    this.key = lanes.at(-1)!.key;
  }

  get closed(): boolean {
    return this.#lanes.some(({ closed }) => closed);
  }

  get waiting(): number {
    return Math.max(...this.#lanes.map(({ waiting }) => waiting));
  }

  get between(): number {
    return this.#lanes[0]!.between;
  }

  set between(between: number) {
    const more = between - this.between;
    for (const lane of this.#lanes) lane.between += more;
  }

  take(requests: number, tokens: number): number {
    for (const lane of this.#lanes) {
      const permit = lane.take(requests, tokens);
      if (!(permit >= 0)) {
        this.#refund();
        return permit;
      }
      this.#permits.push(permit);
    }
    return this.#permits[0]!;
  }

  enter<C extends Call, T>(call: C, then: Then<C, T>): T | Promise<T> {
    call.signal?.throwIfAborted();
    this.#parts = this.#turns.map((turn) => ({ ...call, turn }));
    this.#permits = this.#parts.map(() => -1);
    this.#since = this.house.now();
    this.#delayed = 0;
    const admitted = () => then(call, this.#permits[0]!);
    // The lanes stay while the call waits in one of them.
    this.between++;
    let waits;
    try {
      waits = this.#ask();
    } finally {
      if (!waits) this.between--;
    }
    if (!waits) return admitted();
    call.since = this.#since;
    return this.#wait(waits).then(admitted);
  }

  async #wait(waits: Promise<number> | undefined): Promise<void> {
    try {
      while (waits) waits = this.#ask(await waits);
    } catch (error) {
      this.#refund();
      throw error;
    } finally {
      this.#stop?.();
      this.between--;
    }
  }

  /**
   * Asks all lanes for a permit, except `from`, which has just admitted the call. If one delays it, returns a promise
   * that resolves to its number when it admits the call.
   */
  #ask(from?: number): Promise<number> | undefined {
    if (this.closed) throw new Closed();
    const { core, now, timers } = this.house;
    const time = (this.used = now());
    const isNew = from === undefined && this.#parts[0]!.slot < 0;
    let at = -1;
    try {
      for (const [i, lane] of this.#lanes.entries()) {
        if (i === from) continue;
        const part = this.#parts[i]!;
        // A new call joins all queues, which check its deadline and their room, and stays in the last that delays it.
        if (!isNew) core.again!(this.#permits[i]!);
        // A kept permit is replaced.
        const kept = +(this.#permits[i]! >= 0);
        const permit = (this.#permits[i] = lane.join(part, time));
        lane.calls -= kept;
        if (permit >= 0) continue;
        if (at >= 0) this.#lanes[at]!.leave(this.#parts[at]!);
        at = i;
        if (!isNew) break;
      }
    } catch (error) {
      if (at >= 0) this.#lanes[at]!.leave(this.#parts[at]!);
      this.#refund();
      throw error;
    }
    if (at < 0) return;
    const lane = this.#lanes[at]!;
    const { place, slot, requests, tokens } = this.#parts[at]!;
    const until = from === undefined ? 0 : core.keeps_until!(lane.gate, place, slot, time, requests, tokens, this.#since, this.#delayed);
    this.#delayed = time;
    const returned = until > time ? this.#lend(until) : this.#return();
    const waits = lane.stay(this.#parts[at]!).then((permit) => {
      this.#stop?.();
      this.#permits[at] = permit;
      return at;
    });
    if (until > time) this.#stop = after(timers, until - time, () => this.#refund());
    for (const lane of returned) if (lane.waiting) lane.changed();
    return waits;
  }

  /** Keeps the permits while the call waits for another one. */
  #lend(until: number): Lane[] {
    this.#lanes.forEach((lane, i) => {
      const { slot, requests, tokens } = this.#parts[i]!;
      if (this.#permits[i]! >= 0) this.house.core.lend!(lane.gate, this.#permits[i]!, slot, requests, tokens, until);
    });
    return [];
  }

  /** Returns the permits of a call that was not sent, and the lanes that have room now. */
  #return(): Lane[] {
    const { core, now } = this.house;
    return this.#lanes.filter((lane, i) => {
      const permit = this.#permits[i] ?? -1;
      if (!(permit >= 0) || lane.closed) return false;
      this.#permits[i] = -1;
      lane.calls--;
      core.refund!(lane.gate, permit, now());
      return true;
    });
  }

  #refund(): void {
    for (const lane of this.#return()) if (lane.waiting) lane.changed();
  }

  /** The hints describe the limit of the last key. */
  learn(_permit: number, outcome: number): number {
    const { core, now } = this.house;
    const last = this.#lanes.length - 1;
    const permit = this.#permits[last]!;
    const time = now();
    this.outcome = outcome;
    this.#lanes.forEach((lane, i) => {
      if (i < last && !lane.closed) core.learn_beside!(lane.gate, this.#permits[i]!, this.#lanes[last]!.gate, permit, time);
    });
    return this.#lanes[last]!.learn(permit, outcome);
  }

  /** The other keys learn that the call is tried again, else its rejections would count as those of several calls. */
  retry(call: Call, time: number, level: number): number {
    const [first, ...others] = this.#lanes;
    for (const { gate } of others) this.house.core.retry_beside!(gate, call.slot, time, call.deadline, call.requests, call.tokens, level);
    return first!.retry(call, time, level);
  }

  stream(_permit: number, bytes?: Uint8Array): void {
    this.#lanes.at(-1)!.stream(this.#permits.at(-1)!, bytes);
  }

  release(_permit: number, time?: number): void {
    this.#lanes.forEach((lane, i) => lane.release(this.#permits[i]!, time));
  }

  changed(time?: number): void {
    for (const lane of this.#lanes) if (lane.waiting) lane.changed(time);
  }
}

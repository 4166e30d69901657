/**
 * Carries the requests of one tab to the tab that holds the budgets, and holds them if this tab has
 * the seat.
 *
 * The seat is a Web Lock, which the browser passes to the next tab when its owner is closed,
 * discarded or crashes. A tab releases it before it is frozen. If the owner does not answer,
 * because its page is busy or stopped, another tab steals the lock; and a tab that was busy for
 * that long checks that it still owns the lock before it grants anything.
 */

import { TidegateError } from "../errors.js";
import { Asked } from "../shared/asked.js";
import type { Budgets } from "../shared/budgets.js";
import type { Standing, Told } from "../shared/standing.js";
import { Records } from "./records.js";
import { timers } from "./timers.js";

/** The version of the messages. Two tabs may run two versions of a page. */
const VERSION = 1;

/**
 * A tab that does not answer for this many milliseconds loses the seat. A tab that checked more
 * recently than the second value still has it.
 */
const PATIENCE = 1_000;
const SURE = 500;

/** Messages sent before a lock was released arrive within this many milliseconds. */
const ORDER = 50;

/** A message to all tabs. */
interface Message {
  readonly version: number;
  /** A request; an answer; the holder granted a lease to itself; the holder is new; the holder has left. */
  readonly kind: "request" | "answer" | "granted" | "new" | "left";
  /** The asking tab, and the number of its request. */
  readonly tab?: string;
  readonly id?: number;
  readonly key?: string;
  /** The request or the grant. */
  readonly body?: Uint8Array<ArrayBuffer>;
  readonly why?: string;
  /** The holder's policy, with an answer or if the holder is new. */
  readonly policy?: Told;
  /** The budget's record after the grant. */
  readonly record?: Uint8Array<ArrayBuffer>;
}

type Request = Required<Pick<Message, "key" | "body">>;

export class Post {
  readonly #records: Records;
  readonly #tab = crypto.randomUUID();
  readonly #asked = new Asked<Request>();
  #channel: BroadcastChannel | undefined;
  /** Stops waiting for the lock, or releases it. */
  #release: (() => void) | undefined;
  /** Whether this tab has the seat: another object each time. */
  #seat: object | undefined;
  /** The policy of the tab that has the seat. */
  #policy: Told | undefined;
  /** The browser's client id of this tab, and when it last knew that it has the seat. */
  #client: string | undefined;
  #sure = 0;
  /** When the holder was last heard, and the timer that checks this. */
  #heard = 0;
  #timer: unknown;

  /** `lock` is the name of the lock, the channel and the storage item. `leave` makes all members of this tab send their last request. */
  constructor(
    private readonly lock: string,
    private readonly budgets: Budgets,
    private readonly standing: Standing,
    private readonly leave: () => void,
  ) {
    this.#records = new Records(this.lock);
    // Before a page is frozen or left. The browser may keep it and show it again later.
    globalThis.document?.addEventListener("freeze", this.#rest);
    globalThis.addEventListener?.("pagehide", this.#rest);
  }

  /** Sends a request to the tab that has the seat. */
  async carry(key: string, request: Uint8Array<ArrayBuffer>): Promise<Uint8Array | undefined> {
    const channel = this.#open();
    // Do it synchronously if possible: a page that is left gets no later turn.
    if (this.#seat && (this.#isSure() || (await this.#isHeld()))) return this.#grant(key, request);
    if (channel !== this.#channel) return undefined;
    if (this.standing.replaces(this.#policy, request)) {
      this.#policy = undefined;
      this.#sit(true);
    }
    if (!this.#asked.size) this.#heard = performance.now();
    const asked = { key, body: request };
    const { id, answer } = this.#asked.ask(asked);
    this.#ask(id, asked);
    this.#watch(PATIENCE);
    return answer;
  }

  /** Releases the seat and ends open requests. */
  close(): void {
    this.#rest();
    globalThis.document?.removeEventListener("freeze", this.#rest);
    globalThis.removeEventListener?.("pagehide", this.#rest);
  }

  /** Pauses the tab: until the next request it holds no budgets and does not listen. */
  readonly #rest = (): void => {
    if (!this.#channel) return;
    this.leave();
    if (this.#seat) {
      this.#records.store(true);
      this.#records.change(true);
      this.#tell({ version: VERSION, kind: "left" });
    }
    this.budgets.end();
    this.#seat = undefined;
    this.#release?.();
    this.#release = undefined;
    timers.clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#channel.close();
    this.#channel = undefined;
    for (const { done } of this.#asked.takeAll()) done(undefined);
  };

  #open(): BroadcastChannel {
    if (this.#channel) return this.#channel;
    if (!globalThis.navigator?.locks || typeof BroadcastChannel !== "function") {
      throw new TidegateError("AWAY", "Web Locks or BroadcastChannel are missing; they need a secure context (https or localhost). Calls continue within the share of this tab");
    }
    const channel = (this.#channel = new BroadcastChannel(this.lock));
    channel.onmessage = ({ data }) => this.#take(data);
    this.#sit(false);
    return channel;
  }

  #ask(id: number, request: Request): void {
    this.#tell({ version: VERSION, kind: "request", tab: this.#tab, id, ...request });
  }

  #tell(message: Message): void {
    this.#channel?.postMessage(message);
  }

  /** Waits for the seat, or steals it from a tab that does not answer. */
  #sit(steal: boolean): void {
    this.#release?.();
    const ends = new AbortController();
    let release = () => {};
    const ended = new Promise<void>((end) => {
      release = () => {
        ends.abort();
        end();
      };
    });
    this.#release = release;
    const hold = async () => {
      // By then, the previous holder's messages have arrived.
      await new Promise<void>((come) => timers.setTimeout(come, steal ? 0 : ORDER));
      this.#client = await this.#seated();
      if (this.#release !== release) return;
      this.#sure = performance.now();
      this.#records.begin(steal);
      this.budgets.begin(this.#records);
      this.#seat = {};
      this.#policy = this.standing.claim();
      this.standing.hold(this.#policy);
      this.#tell({ version: VERSION, kind: "new", policy: this.#policy });
      this.#serve();
      await ended;
    };
    navigator.locks.request(this.lock, steal ? { steal } : { signal: ends.signal }, hold).catch((error: unknown) => {
      // It was released; or another tab has stolen it, and this one is a member again.
      if (this.#release !== release) return;
      this.budgets.end();
      this.#seat = undefined;
      this.#release = undefined;
      if (error instanceof DOMException && error.name === "AbortError") {
        this.standing.lost();
        this.#sit(false);
        return;
      }
      const why = new TidegateError("AWAY", `Web Locks failed: ${String(error)}. Calls continue within the share of this tab`);
      for (const { fail } of this.#asked.takeAll()) fail(why);
    });
  }

  /** The client id of the tab that has the seat. */
  async #seated(): Promise<string | undefined> {
    const { held = [] } = await navigator.locks.query();
    return held.find(({ name }) => name === this.lock)?.clientId;
  }

  /** Answers this tab's own requests, now that it has the seat. */
  #serve(): void {
    for (const { request, done, fail } of this.#asked.takeAll()) {
      try {
        done(this.#grant(request.key, request.body));
      } catch (error) {
        fail(error);
      }
    }
  }

  /** Answers a request of this tab. */
  #grant(key: string, request: Uint8Array): Uint8Array | undefined {
    const answer = this.#seat && this.budgets.answer(key, request);
    if (answer) this.#tell({ version: VERSION, kind: "granted", key, record: answer.record });
    return answer?.grant;
  }

  /** Whether no other tab can have taken the seat since this tab last checked. */
  #isSure(): boolean {
    const now = performance.now();
    const sure = !!this.#seat && now - this.#sure < SURE;
    if (sure) this.#sure = now;
    return sure;
  }

  async #isHeld(): Promise<boolean> {
    if (!this.#seat || this.#isSure()) return !!this.#seat;
    const seat = this.#seat;
    if ((await this.#seated()) !== this.#client || seat !== this.#seat) return false;
    this.#sure = performance.now();
    return true;
  }

  #take(message: Message): void {
    const { version, kind, tab, id, key = "", record, body, why, policy } = message;
    if (kind === "request") {
      void this.#reply(message);
      return;
    }
    if (version === VERSION) {
      this.#heard = performance.now();
      // A former holder's answer may arrive late.
      if (policy && !this.#seat) this.#policy = policy;
      if (record) this.#records.hear(key, record);
      else if (kind !== "answer") this.#records.change(kind === "left");
      if (kind === "new") {
        // This tab may no longer have the seat.
        this.#sure = -Infinity;
        // A new holder has not received requests to the previous one.
        for (const [id, { request }] of this.#asked) this.#ask(id, request);
      }
    }
    const waiting = tab === this.#tab && kind === "answer" ? this.#asked.take(id!) : undefined;
    if (!waiting) return;
    if (version !== VERSION) waiting.fail(other(version));
    else if (why) waiting.fail(new TidegateError("MESSAGE", `the tab that holds the budget says: ${why}`));
    else waiting.done(body);
  }

  async #reply({ version, tab, id, key = "", body }: Message): Promise<void> {
    if (!(await this.#isHeld())) return;
    const answer = { version: VERSION, kind: "answer", tab, id, key, policy: this.#policy! } as const;
    try {
      if (version !== VERSION || !(body instanceof Uint8Array)) throw other(version);
      const granted = this.#seat && this.budgets.answer(key, body);
      if (granted) this.#tell({ ...answer, body: granted.grant, record: granted.record });
    } catch (error) {
      this.#tell({ ...answer, why: error instanceof Error ? error.message : String(error) });
    }
  }

  /** Checks later whether the holder has answered. */
  #watch(ms: number): void {
    if (this.#timer !== undefined) return;
    const due = performance.now() + ms;
    this.#timer = timers.setTimeout(() => {
      this.#timer = undefined;
      if (!this.#asked.size || this.#seat || !this.#channel) return;
      const now = performance.now();
      const silent = now - this.#heard;
      // If this tab was busy itself, it has not read its messages yet.
      if (now - due > SURE) this.#watch(PATIENCE * (0.5 + Math.random() / 2));
      else if (silent < PATIENCE) this.#watch(PATIENCE - silent + Math.random() * 100);
      else this.#sit(true);
    }, ms);
  }
}

function other(version: number): TidegateError {
  return new TidegateError("MESSAGE", `another tab uses version ${version} of the protocol, and this one version ${VERSION}: reload the older one`);
}

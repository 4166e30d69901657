/**
 * The post: carries the requests of one tab to the tab that holds the budgets, and holds them where it has the seat.
 *
 * The seat is a Web Lock, which the browser gives to the next tab when one is closed, discarded or crashes. A tab
 * that is frozen gives it up itself, before. Of one that has the lock and says nothing, for its page is busy or stopped, the
 * others take it; and whoever has been busy for that long looks whether it still has it before it grants anything.
 */

import { Closed, TidegateError } from "../errors.js";
import type { Carrier } from "../shared/carrier.js";
import { timers } from "./timers.js";
import { Budgets, type BudgetOptions, type TabStats } from "./budgets.js";

/** The version of the messages. Two tabs may run two versions of a page. */
const VERSION = 1;

/** A tab that has not answered for so many milliseconds loses the seat; one that has looked this lately still has it. */
const PATIENCE = 1_000;
const SURE = 500;

/** What was sent before a lock was given up comes within so many milliseconds. */
const ORDER = 50;

/** A message to all tabs. */
interface Message {
  readonly version: number;
  /** A request, an answer, that the holder has granted something to itself, or that it is new, or has left. */
  readonly kind: "request" | "answer" | "granted" | "new" | "left";
  /** The tab that asks, and what it tells its requests apart by. */
  readonly tab?: string;
  readonly id?: number;
  readonly key?: string;
  /** The request, or the grant. */
  readonly body?: Uint8Array<ArrayBuffer>;
  /** Why there is no grant. */
  readonly why?: string;
  /** What the budget is after the grant. */
  readonly record?: Uint8Array<ArrayBuffer>;
}

/** A request that waits for its answer. */
interface Waiting {
  readonly message: Message;
  readonly done: (grant: Uint8Array | undefined) => void;
  readonly fail: (why: unknown) => void;
}

/** See the module. */
export class Post {
  readonly #options: BudgetOptions;
  readonly #lock: string;
  readonly #tab = crypto.randomUUID();
  readonly #waiting = new Map<number, Waiting>();
  /** Lets all members of this tab say good-bye. */
  readonly #leave: () => void;
  #count = 0;
  #channel: BroadcastChannel | undefined;
  /** Ends the wait for the lock, or gives it up. */
  #release: (() => void) | undefined;
  #budgets: Budgets | undefined;
  /** Which client of the browser this tab is, and when it knew last that the seat is its own. */
  #client: string | undefined;
  #sure = 0;
  /** When the holder was heard last, and the timer that looks whether it was. */
  #heard = 0;
  #timer: unknown;
  #closed = false;

  /** `name` is that of the lock, the channel and the storage. */
  constructor(options: BudgetOptions, name: string, leave: () => void) {
    this.#options = options;
    this.#lock = name;
    this.#leave = leave;
    // Before a page is frozen, and when it is left: it may be kept for later, and comes back then.
    globalThis.document?.addEventListener("freeze", this.#rest);
    globalThis.addEventListener?.("pagehide", this.#rest);
  }

  /** Each request goes to the tab that has the seat. */
  readonly carry: Carrier = async (key, request) => {
    if (this.#closed) throw new Closed();
    const channel = this.#open();
    // All of this in one go, where it can be: a page that is left has no other.
    if (this.#budgets && (this.#isSure() || (await this.#isHeld()))) return this.#grant(key, request);
    if (channel !== this.#channel) return undefined;
    return new Promise((done, fail) => {
      const id = ++this.#count;
      const message: Message = { version: VERSION, kind: "request", tab: this.#tab, id, key, body: request };
      if (!this.#waiting.size) this.#heard = performance.now();
      this.#waiting.set(id, { message, done, fail });
      this.#tell(message);
      this.#watch(PATIENCE);
    });
  };

  /** What the budget of a key has counted, where this tab holds it. */
  budget(key: string): TabStats | undefined {
    return this.#budgets?.stats(key);
  }

  /** Gives the seat up, and what waits for an answer. */
  close(): void {
    this.#rest();
    this.#closed = true;
    globalThis.document?.removeEventListener("freeze", this.#rest);
    globalThis.removeEventListener?.("pagehide", this.#rest);
  }

  /** The tab rests, or ends: until the next request it neither holds anything nor listens. */
  readonly #rest = (): void => {
    if (!this.#channel) return;
    this.#leave();
    if (this.#budgets) {
      this.#options.records.store(true);
      this.#options.records.change(true);
      this.#tell({ version: VERSION, kind: "left" });
    }
    this.#budgets = undefined;
    this.#release?.();
    this.#release = undefined;
    timers.clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#channel.close();
    this.#channel = undefined;
    for (const { done } of this.#waiting.values()) done(undefined);
    this.#waiting.clear();
  };

  #open(): BroadcastChannel {
    if (this.#channel) return this.#channel;
    if (!globalThis.navigator?.locks || typeof BroadcastChannel !== "function") {
      throw new TidegateError("AWAY", "there are no Web Locks or no BroadcastChannel here, which need a secure context (https, or localhost): calls go on within the share of this tab");
    }
    const channel = (this.#channel = new BroadcastChannel(this.#lock));
    channel.onmessage = ({ data }) => this.#take(data);
    this.#sit(false);
    return channel;
  }

  #tell(message: Message): void {
    this.#channel?.postMessage(message);
  }

  /** Waits for the seat, or takes it from a tab that does not answer. */
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
      // What the one before has sent has come by then.
      await new Promise<void>((come) => timers.setTimeout(come, steal ? 0 : ORDER));
      this.#client = await this.#seated();
      if (this.#release !== release) return;
      this.#sure = performance.now();
      this.#budgets = new Budgets(this.#options, steal);
      this.#tell({ version: VERSION, kind: "new" });
      this.#serve();
      await ended;
    };
    navigator.locks.request(this.#lock, steal ? { steal } : { signal: ends.signal }, hold).catch((error: unknown) => {
      // It was given up; or another tab has taken it, and this one is a member again.
      if (this.#release !== release) return;
      this.#budgets = undefined;
      this.#release = undefined;
      if (error instanceof DOMException && error.name === "AbortError") this.#sit(false);
      else this.#fail(error);
    });
  }

  /** The client of the browser that has the seat. */
  async #seated(): Promise<string | undefined> {
    const { held = [] } = await navigator.locks.query();
    return held.find(({ name }) => name === this.#lock)?.clientId;
  }

  /** This tab's own requests, now that it has the seat. */
  #serve(): void {
    const all = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { message, done, fail } of all) {
      try {
        done(this.#grant(message.key!, message.body!));
      } catch (error) {
        fail(error);
      }
    }
  }

  /** Answers a request of this tab. */
  #grant(key: string, request: Uint8Array): Uint8Array | undefined {
    const answer = this.#budgets?.answer(key, request);
    if (answer) this.#tell({ version: VERSION, kind: "granted", key, record: answer.record });
    return answer?.grant;
  }

  /** Whether nobody can have taken the seat since this tab knew that it has it. */
  #isSure(): boolean {
    const now = performance.now();
    const sure = !!this.#budgets && now - this.#sure < SURE;
    if (sure) this.#sure = now;
    return sure;
  }

  async #isHeld(): Promise<boolean> {
    if (!this.#budgets || this.#isSure()) return !!this.#budgets;
    const budgets = this.#budgets;
    if ((await this.#seated()) !== this.#client || budgets !== this.#budgets) return false;
    this.#sure = performance.now();
    return true;
  }

  #take(message: Message): void {
    const { version, kind, tab, id, key = "", record, body, why } = message;
    if (kind === "request") {
      void this.#reply(message);
      return;
    }
    const { records } = this.#options;
    if (version === VERSION) {
      this.#heard = performance.now();
      if (record) records.hear(key, record);
      else if (kind !== "answer") records.change(kind === "left");
      // A new holder has not heard what the one before was asked.
      if (kind === "new") for (const { message } of this.#waiting.values()) this.#tell(message);
    }
    const waiting = tab === this.#tab && kind === "answer" ? this.#waiting.get(id!) : undefined;
    if (!waiting) return;
    this.#waiting.delete(id!);
    if (version !== VERSION) waiting.fail(other(version));
    else if (why) waiting.fail(new TidegateError("MESSAGE", `the tab that holds the budget says: ${why}`));
    else waiting.done(body);
  }

  async #reply({ version, tab, id, key = "", body }: Message): Promise<void> {
    if (!(await this.#isHeld())) return;
    const answer = { version: VERSION, kind: "answer", tab, id, key } as const;
    try {
      if (version !== VERSION || !(body instanceof Uint8Array)) throw other(version);
      const granted = this.#budgets?.answer(key, body);
      if (granted) this.#tell({ ...answer, body: granted.grant, record: granted.record });
    } catch (error) {
      this.#tell({ ...answer, why: error instanceof Error ? error.message : String(error) });
    }
  }

  /** Looks after a while whether the holder has answered. */
  #watch(ms: number): void {
    if (this.#timer !== undefined) return;
    const due = performance.now() + ms;
    this.#timer = timers.setTimeout(() => {
      this.#timer = undefined;
      if (!this.#waiting.size || this.#budgets || !this.#channel) return;
      const now = performance.now();
      const silent = now - this.#heard;
      // A tab that was busy itself has not heard what has come meanwhile.
      if (now - due > SURE) this.#watch(PATIENCE * (0.5 + Math.random() / 2));
      else if (silent < PATIENCE) this.#watch(PATIENCE - silent + Math.random() * 100);
      else this.#sit(true);
    }, ms);
  }

  #fail(error: unknown): void {
    const why = new TidegateError("AWAY", `no Web Lock can be had here: ${String(error)}. Calls go on within the share of this tab`);
    for (const { fail } of this.#waiting.values()) fail(why);
    this.#waiting.clear();
  }
}

function other(version: number): TidegateError {
  return new TidegateError("MESSAGE", `another tab speaks version ${version} of what tabs tell each other, and this one version ${VERSION}: reload the older one`);
}

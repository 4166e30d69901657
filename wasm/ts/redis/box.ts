/** The inbox of one process: a list in Redis, read on a separate connection. */

import { within } from "../shared/held.js";
import { another, command, connect, end, Silence, type RedisClient } from "./client.js";

/** Seconds that the server waits for a message before it answers that there is none. */
const BLOCK = 5;

/** The most messages that are read at a time, besides the first. */
const MOST = "100";

/** A connection that is silent for this many milliseconds is dead. After a failure, the next one waits as long. */
const SILENT = BLOCK * 1_000 + 2_000;
const PAUSE = 250;

export class Box {
  #client: RedisClient | undefined;
  /** The loop that reads, if any. */
  #reading: object | undefined;

  /** `failed` is told why a new connection failed. */
  constructor(
    private readonly from: RedisClient,
    private readonly name: string,
    private readonly take: (message: string[]) => void,
    private readonly failed: (why: unknown) => void,
  ) {}

  /** Starts to read; repeated calls have no effect. */
  open(): void {
    if (!this.#reading) void this.#read((this.#reading = {}));
  }

  close(): void {
    this.#reading = undefined;
    if (this.#client) end(this.#client);
    this.#client = undefined;
  }

  /** Reads a message, and ignores anything else that somebody has put into the box. */
  #parse(text: string): void {
    let message: unknown;
    try {
      message = JSON.parse(text);
    } catch {
      return;
    }
    if (Array.isArray(message) && message.every((part) => typeof part === "string")) this.take(message);
  }

  async #read(reading: object): Promise<void> {
    while (this.#reading === reading) {
      const isNew = !this.#client;
      try {
        if (!this.#client) await connect((this.#client = another(this.from)));
        // The second command runs as soon as the first one has a message, so one round trip brings all that wait.
        const popped = [command(this.#client, "BLPOP", this.name, String(BLOCK)), command(this.#client, "LPOP", this.name, MOST)];
        const [first, more] = (await within(SILENT, Promise.all(popped), () => new Silence(SILENT))) as (unknown[] | null)[];
        for (const text of [...(first ?? []).slice(1), ...(more ?? [])]) this.#parse(String(text));
      } catch (why) {
        if (this.#reading !== reading) return;
        // Another connection cures every failure. A message in flight is lost, as messages may be.
        if (isNew) this.failed(why);
        if (this.#client) end(this.#client);
        this.#client = undefined;
        await new Promise((admit) => setTimeout(admit, PAUSE));
      }
    }
  }
}

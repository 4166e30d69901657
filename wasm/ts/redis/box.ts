/** The messages to one process: a list in Redis, which is read on a connection that does nothing else. */

import { another, command, connect, end, within, type RedisClient } from "./client.js";

/** So many seconds the server waits for a message before it says that there is none. */
const BLOCK = 5;

/** A connection that is silent for so many milliseconds longer is dead; after a failure a new one waits so long. */
const LATE = 2_000;
const PAUSE = 250;

/** See the module. */
export class Box {
  readonly #from: RedisClient;
  readonly #name: string;
  readonly #take: (message: string[]) => void;
  #client: RedisClient | undefined;
  #isRead = false;
  #closed = false;
  /** Why the latest attempt to read has failed. */
  why: unknown;

  constructor(from: RedisClient, name: string, take: (message: string[]) => void) {
    this.#from = from;
    this.#name = name;
    this.#take = take;
  }

  /** Begins to read, unless it has. */
  open(): void {
    if (!this.#isRead) void this.#read();
    this.#isRead = true;
  }

  close(): void {
    this.#closed = true;
    if (this.#client) end(this.#client);
  }

  async #read(): Promise<void> {
    while (!this.#closed) {
      try {
        if (!this.#client) await connect((this.#client = another(this.#from)));
        const popped = await within(BLOCK * 1_000 + LATE, command(this.#client, "BLPOP", this.#name, String(BLOCK)));
        this.why = undefined;
        if (Array.isArray(popped)) this.#take(JSON.parse(String(popped[1])));
      } catch (why) {
        // Whatever it was, another connection is as good as new. A message that was on its way is lost,
        // which is what messages may be.
        this.why = why;
        if (this.#client) end(this.#client);
        this.#client = undefined;
        if (!this.#closed) await new Promise((admit) => setTimeout(admit, PAUSE));
      }
    }
  }
}

/** What is needed of a Redis client, whichever it is. */

import { PolicyError } from "../errors.js";

/** What is used of a client of `redis` (node-redis), 5 and later. */
export interface NodeRedis {
  readonly isReady: boolean;
  sendCommand(args: string[]): Promise<unknown>;
  duplicate(): NodeRedis;
  connect(): Promise<unknown>;
  destroy(): void;
  on(event: "error", listener: (error: Error) => void): unknown;
}

/** What is used of a client of `ioredis`, 5 and later. */
export interface IoRedis {
  readonly status: string;
  call(command: string, args: string[]): Promise<unknown>;
  duplicate(): IoRedis;
  disconnect(): void;
  on(event: "error", listener: (error: Error) => void): unknown;
}

/** A client of one Redis server (or Valkey), of either package. */
export type RedisClient = NodeRedis | IoRedis;

/** Throws where it is no such client. */
export function check(client: RedisClient): void {
  if (typeof client?.duplicate === "function" && ("call" in client || "sendCommand" in client)) return;
  throw new PolicyError('shared is no Redis client: pass what createClient() of "redis" gives, connected, or a new Redis() of "ioredis"');
}

/** Runs a command. */
export function command(client: RedisClient, name: string, ...args: string[]): Promise<unknown> {
  return "call" in client ? client.call(name, args) : client.sendCommand([name, ...args]);
}

/** Whether a command leaves at once: else the client keeps it, and it would arrive when nobody waits for it any more. */
export function isReady(client: RedisClient): boolean {
  // An ioredis client that waits connects for the first command.
  return "call" in client ? client.status === "ready" || client.status === "wait" : client.isReady;
}

/** Another connection to the same server, which is not made yet. */
export function another(client: RedisClient): RedisClient {
  const copy = client.duplicate();
  // Without a listener it would end the program. What is wrong is told by the commands that fail.
  copy.on("error", () => {});
  return copy;
}

/** Sees that a connection is being made. */
export async function connect(client: RedisClient): Promise<void> {
  if (!("call" in client)) await client.connect();
}

/** Ends a connection, whatever it waits for. */
export function end(client: RedisClient): void {
  try {
    if ("call" in client) client.disconnect();
    else client.destroy();
  } catch {
    // It had ended.
  }
}

/** The same, but it fails after so many milliseconds. */
export async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer;
  const late = new Promise<never>((_, fail) => {
    timer = setTimeout(() => fail(new Error(`Redis has not answered for ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** A script that the server keeps: sent once, and again to a server that does not know it. */
export class Script {
  readonly #text: string;
  #sha: Promise<unknown> | undefined;

  constructor(text: string) {
    this.#text = text;
  }

  async run(client: RedisClient, keys: string[], args: string[]): Promise<unknown> {
    const run = async () => {
      const sha = String(await (this.#sha ??= command(client, "SCRIPT", "LOAD", this.#text)));
      return command(client, "EVALSHA", sha, String(keys.length), ...keys, ...args);
    };
    try {
      return await run();
    } catch (error) {
      this.#sha = undefined;
      if (!String(error).includes("NOSCRIPT")) throw error;
      return run();
    }
  }
}

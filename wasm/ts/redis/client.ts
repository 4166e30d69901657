/** A common interface to the supported Redis clients. */

import { createHash } from "node:crypto";
import { PolicyError, TidegateError } from "../errors.js";
import { within } from "../shared/held.js";

/** The part of a `redis` (node-redis) client, 5 and later, that is used. */
export interface NodeRedis {
  readonly isReady: boolean;
  sendCommand(args: string[]): Promise<unknown>;
  readonly options?: { socket?: object | undefined } | undefined;
  duplicate(override?: object): NodeRedis;
  connect(): Promise<unknown>;
  destroy(): void;
  on(event: "error" | "end", listener: (error: Error) => void): unknown;
}

/** The part of an `ioredis` client, 5 and later, that is used. */
export interface IoRedis {
  readonly status: string;
  call(command: string, args: string[]): Promise<unknown>;
  duplicate(override?: object): IoRedis;
  disconnect(): void;
  readonly stream?: { destroy?(): unknown } | undefined;
  on(event: "error" | "end", listener: (error: Error) => void): unknown;
}

/** A client of one Redis or Valkey server, from either package. */
export type RedisClient = NodeRedis | IoRedis;

/** Throws if this is not such a client. */
export function check(client: RedisClient): void {
  // A cluster client of either package.
  const { isCluster, nodeClient }: { isCluster?: boolean; nodeClient?: unknown } = Object(client);
  if (isCluster || nodeClient) {
    throw new PolicyError("shared is a client of Redis Cluster, which is not supported: pass a client of one server");
  }
  if (typeof client?.duplicate === "function" && ("call" in client || "sendCommand" in client)) return;
  throw new PolicyError('shared is not a Redis client: pass a connected createClient() of "redis", or a new Redis() of "ioredis"');
}

export function command(client: RedisClient, name: string, ...args: string[]): Promise<unknown> {
  return "call" in client ? client.call(name, args) : client.sendCommand([name, ...args]);
}

/** Whether a command is sent at once. Otherwise the client queues it, and it arrives when its caller no longer waits. */
export function isReady(client: RedisClient): boolean {
  // A lazy ioredis client connects for its first command.
  return "call" in client ? client.status === "ready" || client.status === "wait" : client.isReady;
}

/** A read takes as long as its server blocks. An ioredis client connects for its first command, which waits in a queue. */
const PATIENT = { enableOfflineQueue: true, commandTimeout: undefined, socketTimeout: undefined };
const patient = ({ options }: NodeRedis) => ({ commandOptions: { timeout: undefined }, socket: { ...options?.socket, socketTimeout: undefined } });

/** Another connection to the same server, not yet opened. */
export function another(client: RedisClient): RedisClient {
  const copy = "call" in client ? client.duplicate(PATIENT) : client.duplicate(patient(client));
  // Without a listener an error would end the program. Failed commands report it.
  copy.on("error", () => {});
  return copy;
}

export async function connect(client: RedisClient): Promise<void> {
  if (!("call" in client)) await client.connect();
}

/** Closes a connection at once. */
export function end(client: RedisClient): void {
  try {
    if ("call" in client) {
      client.disconnect();
      // It waits for a server that blocks, otherwise.
      client.stream?.destroy?.();
    } else client.destroy();
  } catch {
    // It was already closed.
  }
}

const ends = new WeakMap<RedisClient, Set<() => void>>();

/** Calls `then` when the program's client ends, until the returned function is called. A client gets one listener. */
export function whenEnded(client: RedisClient, then: () => void): () => void {
  let all = ends.get(client);
  if (!all) {
    const made = (all = new Set<() => void>());
    ends.set(client, made);
    client.on("end", () => made.forEach((then) => then()));
  }
  all.add(then);
  return () => all.delete(then);
}

/** A script that takes this many milliseconds has no answer. */
const SILENCE = 2_000;

/**
 * The connection for scripts: the program's, until it does not answer, since it may be half-open for a quarter of an hour.
 * Then another one, while it is ready.
 */
export class Wire {
  #other: RedisClient | undefined;
  /** When and with which client the running scripts were sent. */
  readonly #sent = new Set<{ readonly at: number; readonly client: RedisClient }>();
  #closed = false;

  constructor(private readonly from: RedisClient) {}

  get #client(): RedisClient {
    return this.#other && isReady(this.#other) ? this.#other : this.from;
  }

  get isReady(): boolean {
    return isReady(this.#client);
  }

  /** For how many milliseconds a script of the present client has had no answer; 0 if none runs. */
  get silence(): number {
    const now = performance.now();
    const present = this.#client;
    return Math.max(0, ...[...this.#sent].filter(({ client }) => client === present).map(({ at }) => now - at));
  }

  async run(script: Script, keys: string[], args: string[]): Promise<unknown> {
    const client = this.#client;
    const sent = { at: performance.now(), client };
    this.#sent.add(sent);
    try {
      return await within(SILENCE, script.run(client, keys, args), () => new Silence(SILENCE));
    } catch (why) {
      if (why instanceof Silence && !this.#closed && client === (this.#other ?? this.from)) this.#open();
      throw why;
    } finally {
      this.#sent.delete(sent);
    }
  }

  /** Closes the other connection for good. */
  close(): void {
    this.#closed = true;
    this.#drop();
  }

  /** Opens another connection in place of the present other one. */
  #open(): void {
    this.#drop();
    const other = (this.#other = another(this.from));
    connect(other).catch(() => {
      if (this.#other === other) this.#drop();
    });
  }

  #drop(): void {
    if (this.#other) end(this.#other);
    this.#other = undefined;
  }
}

export class Silence extends TidegateError {
  constructor(ms: number) {
    super("AWAY", `Redis has not answered for ${Math.round(ms)} ms: the connection may be half-open. Calls continue within the last share until it answers`);
  }
}

/** A script: its text is sent if the server does not know it. */
export class Script {
  /** The server's name of it. */
  readonly #sha: string;

  constructor(private readonly text: string) {
    this.#sha = createHash("sha1").update(text).digest("hex");
  }

  async run(client: RedisClient, keys: string[], args: string[]): Promise<unknown> {
    const rest = [String(keys.length), ...keys, ...args];
    try {
      return await command(client, "EVALSHA", this.#sha, ...rest).catch((error: unknown) => {
        if (!String(error).includes("NOSCRIPT")) throw error;
        return command(client, "EVAL", this.text, ...rest);
      });
    } catch (error) {
      // Redis does not say which command it is.
      throw String(error).includes("can't run this command") ? new TidegateError("AWAY", `${String(error)} The user needs the permissions ${COMMANDS}`) : error;
    }
  }
}

/** What the scripts call. */
const COMMANDS = "+get +set +del +hget +hmget +hset +rpush +lrange +pexpire +time";

/** The gate: keys, calls and their retries, on top of the lanes. */

import type { Core } from "./core.js";
import { Closed, PolicyError, TidegateError, type Code } from "./errors.js";
import type { Call, Cause, House, Lane } from "./lane.js";
import { write, type Policy } from "./policy.js";
import { OUTCOMES, responseIn, tell, type Outcome, type Reply, type ResponseLike } from "./reply.js";
import { Guard, nap } from "./wait.js";

/** What a call costs: a number of requests, or requests and tokens. */
export type Cost = number | { requests?: number; tokens?: number };

/** What a key is made of. */
export interface Target {
  readonly url: string;
  readonly method: string;
}

/** What a gate is made with: all optional. */
export interface Options extends Policy {
  /** The calls of one key share a limit. @defaultValue the origin of the URL */
  key?: (target: Target) => string;
  /**
   * How many keys are remembered. The least recently used idle one is forgotten; where none is idle, calls
   * of further keys wait, and `tryAcquire` throws. @defaultValue 1000
   */
  keys?: number;
  /** How many calls may wait for a key. @defaultValue 10000 */
  queue?: number;
  /** The `fetch` to wrap. @defaultValue the global one */
  fetch?: typeof globalThis.fetch;
  /** Makes the jitter repeatable, for tests. @defaultValue from `crypto` */
  seed?: number;
  /** The clock in milliseconds, for tests. @defaultValue performance.now */
  now?: () => number;
}

/** What a call may say. */
export interface CallOptions {
  /** Which limit it falls under. @defaultValue the URL's, or one for all of `run` */
  key?: string;
  /** What it costs. @defaultValue 1 */
  cost?: Cost;
  /** How many milliseconds it may take in all, with waits and retries. @defaultValue no limit */
  deadline?: number;
  /** Who goes first among those that wait: the larger, from 0 to 7. @defaultValue 0 */
  priority?: number;
  /** Gives the call up, wherever it stands. */
  signal?: AbortSignal | null;
  /**
   * Whether it is tried again. @defaultValue what was refused (429, 503) in `run`; idempotent
   * methods in `fetch`
   */
  retry?: boolean;
}

/** What `run` may say besides. */
export interface RunOptions<T> extends CallOptions {
  /** Tells what became of it, where neither a status nor an error does. */
  outcome?: (result: { value?: T; error?: unknown }) => Reply | undefined;
  /** What it really cost, for instance the tokens that the answer counts. */
  used?: (value: T) => Cost | undefined;
}

/** The right to one call. Settle it; what is dropped unsettled teaches nothing. */
export interface Permit {
  /** Reports what became of the call; only the first report counts. */
  settle(reply?: Reply, used?: Cost): void;
  /** As `settle("abandoned")`, if it was not settled. */
  [Symbol.dispose](): void;
}

/**
 * Why a call is not tried again: sending it twice is not safe (by its `method`, or its `body`, which
 * can be read once), its `attempts` are used up, its `deadline` comes first, the retry `budget` is
 * spent, the `limit` has no room, or the `queue` is full.
 */
export type Why = "method" | "body" | "attempts" | "deadline" | "budget" | "limit" | "queue";

/** What happened, by the name of the event. */
export interface Events {
  /** A call begins to wait. */
  wait: { key: string; cause: Cause; ms: number };
  /** A server refused a call, or had too much to do. */
  throttled: { key: string; outcome: Outcome; status: number | undefined; pause: number | undefined; attempt: number };
  /** A call will be tried again, in `ms` milliseconds at the earliest. */
  retry: { key: string; attempt: number; ms: number };
  /** A call that failed is not tried again, and why. */
  unretried: { key: string; attempt: number; why: Why };
}

/** What has been counted, over all keys or for one. */
export type Stats = Record<(typeof COUNTERS)[number] | "keys" | "waiting", number> & {
  /** How many waits each gate has caused. */
  causes: Record<Cause, number>;
  /** Milliseconds between two calls, by the law; 0 where nothing is kept apart. The largest of all keys. */
  interval: number;
};

/** The counters in the core's order. */
const COUNTERS = [
  "gone", "waits", "full", "refused", "ok", "throttled", "busy", "failed", "abandoned", "retries", "slower", "faster", "inFlight",
] as const;

/** What has been learnt, to be kept by structured clone. */
export interface Snapshot {
  /** When it was made, in milliseconds since 1970. */
  readonly at: number;
  readonly keys: Readonly<Record<string, Uint8Array>>;
}

/** Paces calls, and learns from what comes back. */
export interface Gate {
  /** As `fetch`: paced, retried where that is safe, and heeding what servers say of their limits. */
  readonly fetch: (input: RequestInfo | URL, init?: RequestInit, options?: CallOptions) => Promise<Response>;
  /** Runs any call when it may leave; the signal is aborted when the call is given up. */
  readonly run: <T>(work: (signal: AbortSignal) => T | PromiseLike<T>, options?: RunOptions<T>) => Promise<T>;
  /** A permit, if a call may leave now; else null. */
  readonly tryAcquire: (options?: Pick<CallOptions, "key" | "cost">) => Permit | null;
  /** The counters, of all keys or of one. */
  readonly stats: (key?: string) => Stats;
  /** Listens; the answer stops it. */
  readonly on: <E extends keyof Events>(event: E, listener: (event: Events[E]) => void) => () => void;
  /** Follows another policy from now on. A law that stays the same keeps what it has learnt. */
  readonly setPolicy: (policy: Policy) => void;
  /** What has been learnt. */
  readonly snapshot: () => Snapshot;
  /** Goes on from a snapshot, for the keys that are idle. */
  readonly restore: (snapshot: Snapshot) => void;
  /** Frees what the gate holds; calls that wait are rejected as `Closed`. */
  readonly close: () => void;
  readonly [Symbol.dispose]: () => void;
}

/** What `run` runs. */
type Work<T> = (signal: AbortSignal) => T | PromiseLike<T>;

/** Why a call is not sent twice, if it is not. */
type Unsafe = "method" | "body" | undefined;

/** A call, with what it is for. */
interface Job<T> extends Call {
  readonly lane: Lane;
  readonly work: Work<T>;
  readonly options: RunOptions<T> | undefined;
  readonly unsafe: Unsafe;
  /** How many attempts were sent. */
  attempts: number;
}

/** No options. */
const NONE: CallOptions = {};

/** A later attempt goes on with its permit. */
const same = (_: Call, permit: number) => permit;

/** What the core answers where an attempt could not be sent by the deadline. */
const LATE = -2;

/** Why a later attempt is refused; where nothing stands here, it comes too late. */
const WHYS: Partial<Record<Code, Why>> = { BUDGET: "budget", OVER_LIMIT: "limit", TOO_BIG: "limit", QUEUE_FULL: "queue" };

/** The first 32 calls whose keys wait for room look so often whether there is some, and others at least so often. One that is so late is lost. */
const LOOK = 5;
const OFTEN = 200;
const LOST = 20;

const IDEMPOTENT = /^(GET|HEAD|OPTIONS|TRACE|PUT|DELETE)$/i;

/** A kind of lanes, and how long one of their calls may take before it is taken for lost. */
export interface Lanes {
  new (key: string, gate: number, house: House): Lane;
  readonly lease: number;
}

/** Makes the `tidegate` of an entry: from its core, how many laws that has, and its kind of lanes. */
export const maker = (load: () => Core, laws: number, Kind: Lanes) => (options: Options = {}): Gate => {
  const now = options.now ?? (() => performance.now());
  const most = options.keys ?? 1000;
  const lanes = new Map<string, Lane>();
  const listeners: { [E in keyof Events]?: Set<(event: Events[E]) => void> } = {};
  const causes: Record<Cause, number> = { pace: 0, hold: 0, window: 0, budget: 0 };
  let policy: Policy = options;
  let core: Core | undefined;
  let seed = options.seed;
  let closed = false;
  let latest: Lane | undefined;
  /** Calls whose keys wait for room, each with when it looks again; 0 where it does now. */
  const entries = new Set<{ readonly turn: number; wakes: number }>();
  let turns = 0;

  const emit = <E extends keyof Events>(event: E, what: () => Events[E]) => {
    if (!listeners[event]?.size) return;
    const told = what();
    listeners[event].forEach((listener) => {
      try {
        listener(told);
      } catch (error) {
        // It is the program's to hear of, and not the call's to fail by.
        queueMicrotask(() => {
          throw error;
        });
      }
    });
  };
  let house: House | undefined;
  const open = (): House =>
    (house ??= {
      core: (core = load()),
      now,
      queue: options.queue ?? 10_000,
      waits(lane, cause, ms) {
        causes[cause]++;
        emit("wait", () => ({ key: lane.key, cause, ms }));
      },
    });

  const entropy = (): number => {
    if (seed !== undefined) return (seed = (seed + 1) >>> 0);
    return crypto.getRandomValues(new Uint32Array(1))[0]!;
  };

  /** The lane of a key: made on first use, in the place of the one that was idle longest; none where none is. */
  const laneOf = (key: string): Lane | undefined => {
    if (latest?.key === key) return latest;
    if (closed) throw new Closed();
    let lane = lanes.get(key);
    if (lane) {
      lanes.delete(key);
    } else {
      if (!hasRoom()) return;
      const core = open().core;
      write(core.row(), policy, laws, Kind.lease);
      lane = admit(key, core.open(entropy(), entropy(), now(), house!.queue));
    }
    lanes.set(key, lane);
    return (latest = lane);
  };

  const admit = (key: string, slot: number): Lane => {
    if (slot === -1) throw new TidegateError("MEMORY", "there is no memory for another key: lower the option keys");
    if (slot === -2) throw impossible();
    if (slot < 0) throw new TidegateError("SNAPSHOT", `the snapshot of ${key || "the gate"} is damaged, or of another law`);
    return new Kind(key, slot, house!);
  };

  /** Whether there is room for another key, for which the one that was idle longest is forgotten. */
  const hasRoom = (): boolean => {
    if (lanes.size < most) return true;
    const stale = now() - (policy.lease ?? Kind.lease);
    for (const lane of lanes.values()) {
      if (lane.isIdle(stale)) {
        lanes.delete(lane.key);
        if (latest === lane) latest = undefined;
        lane.close();
        return true;
      }
    }
    return false;
  };

  const full = () => new TidegateError("KEYS_FULL", `all ${most} keys have calls under way: raise the option keys`);

  /** The first call that waits for room. One that has overslept may never wake. */
  const next = (time: number) => {
    for (const entry of entries) {
      if (!entry.wakes || entry.wakes + LOST >= time) return entry;
      entries.delete(entry);
    }
    return;
  };

  /** Begins a call once there is room for its key. Each looks for itself: nobody may wake another request's. */
  const later = async <T>(key: string, deadline: number, work: Work<T>, options: RunOptions<T> | undefined, unsafe: Unsafe): Promise<T> => {
    const entry = { turn: turns++, wakes: 0 };
    try {
      for (;;) {
        const time = now();
        if (time >= deadline) throw full();
        entries.add(entry);
        const rank = entry.turn - next(time)!.turn;
        const ms = Math.min(LOOK * (1 + (rank >> 5)), OFTEN, deadline > time ? deadline - time : OFTEN);
        entry.wakes = time + ms;
        await nap(ms, options?.signal);
        entry.wakes = 0;
        const lane = lanes.has(key) || next(now()) === entry ? laneOf(key) : undefined;
        if (lane) return begin(lane, deadline, work, options, unsafe);
        if (closed) throw new Closed();
      }
    } finally {
      entries.delete(entry);
    }
  };

  const begin = <T>(lane: Lane, deadline: number, work: Work<T>, options: RunOptions<T> | undefined, unsafe: Unsafe): T | Promise<T> => {
    const { cost, priority = 0, signal } = options ?? NONE;
    if (!(priority >= 0 && priority <= 7) || priority % 1) throw new PolicyError(`priority is ${priority}; it is a whole number from 0 to 7`);
    const call: Job<T> = {
      lane, work, options, unsafe, deadline, requests: requestsOf(cost), tokens: tokensOf(cost), priority, signal, turn: lane.turns++,
      attempts: 0, slot: -1, place: -1, then: undefined, done: undefined, fail: undefined, stop: undefined, wakes: 0,
    };
    return lane.enter(call, attempt);
  };

  /** A call and its retries, which `unsafe` forbids. */
  const go = <T>(work: Work<T>, options: RunOptions<T> | undefined, unsafe?: Unsafe): Promise<T> => {
    const key = options?.key ?? "";
    const deadline = options?.deadline === undefined ? NaN : now() + options.deadline;
    try {
      const lane = entries.size && next(now()) && !lanes.has(key) ? undefined : laneOf(key);
      return (lane ? begin(lane, deadline, work, options, unsafe) : later(key, deadline, work, options, unsafe)) as Promise<T>;
    } catch (error) {
      return Promise.reject(error);
    }
  };

  /** An attempt of a call that was admitted, and those after it. */
  const attempt = async <T>(call: Job<T>, permit: number): Promise<T> => {
    const { lane, work, options } = call;
    const { core } = lane.house;
    const guard = call.signal || call.deadline > 0 ? new Guard(call.signal, call.deadline - now()) : undefined;
    let reply: Reply;
    let end: () => T;
    call.attempts++;
    lane.calls++;
    try {
      const result = work((guard?.signal ?? (work.length ? new AbortController().signal : undefined))!);
      const value = await (guard ? guard.race(result) : result);
      reply = options?.outcome?.({ value }) ?? responseIn(value) ?? "ok";
      end = () => value;
      lane.settle(permit, report(core, reply, options?.used?.(value)));
    } catch (error) {
      reply = options?.outcome?.({ error }) ?? responseIn(error) ?? (guard?.signal.aborted ? "abandoned" : "failed");
      end = () => {
        throw error;
      };
      lane.settle(permit, report(core, reply, undefined));
    } finally {
      guard?.end();
      lane.calls--;
    }
    const more = again(call, reply);
    if (lane.waiting) lane.changed();
    if (more >= 0) return retry(call, more, end);
    forget(call);
    return end();
  };

  /** Tries a call again after a time; `end` is how it ends where it is not admitted again. */
  const retry = async <T>(call: Job<T>, ms: number, end: (() => T) | undefined): Promise<T> => {
    const { lane } = call;
    let permit;
    lane.calls++;
    try {
      if (ms) await nap(ms, call.signal);
      const next = lane.enter(call, same);
      // Nobody reads the answer before this one any more, and it would keep its connection.
      if (discard(end!)) end = undefined;
      permit = await next;
    } catch (rejection) {
      forget(call);
      if (rejection instanceof TidegateError && !(rejection instanceof Closed)) {
        emit("unretried", () => ({ key: lane.key, attempt: call.attempts, why: WHYS[rejection.code] ?? "deadline" }));
        if (end) return end();
      }
      if (end) discard(end);
      throw rejection;
    } finally {
      lane.calls--;
    }
    return attempt(call, permit);
  };

  /** Frees what the core keeps of a call that was tried again. */
  const forget = ({ lane, slot }: Call & { lane: Lane }) => {
    if (slot >= 0) lane.house.core.forget(slot);
  };

  /** In how many milliseconds a call that came back is tried again; -1 where it is not. */
  const again = <T>(call: Job<T>, reply: Reply): number => {
    const { lane, unsafe, attempts: attempt } = call;
    const { key, outcome, house: { core } } = lane;
    // It was served, or nobody waits for it any more.
    if (outcome === 0 || outcome === 4 || lane.closed) return -1;
    const time = now();
    const pushback = outcome < 3;
    // The retry is the core's answer to the reply as it stands, which a listener's calls would change.
    const wanted = !unsafe && (call.options?.retry ?? pushback);
    const pause = core.pause();
    const slot = wanted ? core.retry(lane.gate, call.slot, time, call.deadline, call.requests, call.tokens) : -1;
    const ms = slot < 0 ? -1 : Math.max(core.not_before(slot) - time, 0);
    if (slot >= 0) call.slot = slot;
    const late = time + ms > call.deadline || slot === LATE;
    if (pushback) {
      const { status } = reply as Partial<ResponseLike>;
      emit("throttled", () => ({ key, attempt, outcome: OUTCOMES[outcome]!, status, pause: pause >= 0 ? pause : undefined }));
    }
    if (ms >= 0 && !late) {
      emit("retry", () => ({ key, attempt: attempt + 1, ms }));
      return ms;
    }
    const why = unsafe ?? (late ? "deadline" : wanted ? "attempts" : undefined);
    if (why) emit("unretried", () => ({ key, attempt, why }));
    return -1;
  };

  const run: Gate["run"] = (work, options) => go(work, options);

  const fetch: Gate["fetch"] = async (input, init, call) => {
    const request = typeof input === "object" && "method" in input ? input : undefined;
    const target = { url: request?.url ?? String(input), method: init?.method ?? request?.method ?? "GET" };
    const headers = init?.headers ?? request?.headers;
    const body = init?.body ?? request?.body;
    const safe = call?.retry ?? (IDEMPOTENT.test(target.method) || (!!headers && new Headers(headers).has("idempotency-key")));
    // What has been read from a stream cannot be sent again.
    const once = typeof body === "object" && body !== null && ("getReader" in body || Symbol.asyncIterator in body);
    const wrapped = options.fetch ?? globalThis.fetch;
    const work: Work<Response> = (...[signal]) => wrapped(input, signal ? { ...init, signal } : init);
    const key = call?.key ?? (options.key ?? originOf)(target);
    const signal = call?.signal ?? init?.signal ?? request?.signal;
    return go(work, { ...call, key, signal, retry: call?.retry ?? true }, safe ? (once ? "body" : undefined) : "method");
  };

  const tryAcquire: Gate["tryAcquire"] = (options) => {
    const lane = laneOf(options?.key ?? "");
    if (!lane) throw full();
    const cost = options?.cost;
    const permit = lane.take(requestsOf(cost), tokensOf(cost));
    return permit >= 0 ? new Pass(lane, permit) : null;
  };

  const stats: Gate["stats"] = (key) => {
    const sum = { keys: 0, waiting: 0, interval: 0, causes: { ...causes } } as Stats;
    for (const name of COUNTERS) sum[name] = 0;
    for (const lane of lanes.values()) {
      if (key !== undefined && lane.key !== key) continue;
      const { core } = lane.house;
      core.stats(lane.gate);
      const row = core.row();
      COUNTERS.forEach((name, i) => (sum[name] += row[i]!));
      sum.keys++;
      sum.waiting += lane.waiting;
      sum.interval = Math.max(sum.interval, core.interval(lane.gate, 0, now()));
    }
    return sum;
  };

  const on: Gate["on"] = (event, listener) => {
    const set = ((listeners[event] as Set<typeof listener> | undefined) ??= new Set() as never) as Set<typeof listener>;
    set.add(listener);
    return () => void set.delete(listener);
  };

  const setPolicy: Gate["setPolicy"] = (next) => {
    const { core } = open();
    write(core.row(), next, laws, Kind.lease);
    for (const lane of lanes.values()) {
      if (!core.follow(lane.gate, now())) throw impossible();
      lane.changed();
    }
    policy = next;
  };

  const snapshot: Gate["snapshot"] = () => {
    const keys: Record<string, Uint8Array> = {};
    for (const { key, gate, house } of lanes.values()) {
      const length = house.core.snapshot(gate, now());
      keys[key] = house.core.room().slice(0, length);
    }
    return { at: Date.now(), keys };
  };

  const restore: Gate["restore"] = ({ at, keys }) => {
    if (closed) throw new Closed();
    const { core } = open();
    for (const [key, record] of Object.entries(keys)) {
      const before = lanes.get(key);
      if (before && !before.isIdle()) continue;
      if (!before && !hasRoom()) throw full();
      write(core.row(), policy, laws, Kind.lease);
      core.room().set(record.subarray(0, 4096));
      const lane = admit(key, core.restore(entropy(), entropy(), now(), record.length, Date.now() - at, house!.queue));
      before?.close();
      lanes.set(key, lane);
      latest = undefined;
    }
  };

  const close = () => {
    closed = true;
    latest = undefined;
    for (const lane of lanes.values()) lane.close();
    lanes.clear();
  };

  return { fetch, run, tryAcquire, stats, on, setPolicy, snapshot, restore, close, [Symbol.dispose]: close };
};

/** The origin of a URL, which in a page may be relative. */
function originOf({ url }: Target): string {
  return new URL(url, globalThis.location?.href).origin;
}

class Pass implements Permit {
  #lane: Lane | undefined;
  readonly #permit: number;

  constructor(lane: Lane, permit: number) {
    lane.calls++;
    this.#lane = lane;
    this.#permit = permit;
  }

  settle(reply: Reply = "ok", used?: Cost): void {
    const lane = this.#lane;
    if (!lane) return;
    this.#lane = undefined;
    lane.calls--;
    lane.settle(this.#permit, report(lane.house.core, reply, used));
    if (lane.waiting) lane.changed();
  }

  [Symbol.dispose](): void {
    this.settle("abandoned");
  }
}

/** The core's word on a policy whose numbers, each by itself, can be. */
function impossible(): PolicyError {
  return new PolicyError("the policy's options are not possible together");
}

function requestsOf(cost: Cost = 1): number {
  return typeof cost === "object" ? (cost.requests ?? 1) : cost;
}

function tokensOf(cost: Cost = 1): number {
  return typeof cost === "object" ? (cost.tokens ?? 0) : 0;
}

/** Prepares the core's reply for a call that has come back, and tells its outcome's number. */
function report(core: Core, reply: Reply, used: Cost | undefined): number {
  const outcome = tell(core, reply);
  if (used !== undefined) core.used(requestsOf(used), tokensOf(used));
  return outcome;
}

/** Lets go of an answer that nobody will read; whether there was something to let go of. */
function discard(end: () => unknown): boolean {
  let body;
  try {
    body = (end() as Response | undefined)?.body;
  } catch {
    // It was an error, which holds nothing.
  }
  if (!body?.cancel) return false;
  body.cancel().catch(() => {});
  return true;
}

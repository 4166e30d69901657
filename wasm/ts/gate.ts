/** The gate: keys, calls and their retries, on top of the lanes. */

import { discard } from "./body.js";
import type { Core } from "./core.js";
import { Closed, DeadlineExceeded, keepError, PolicyError, Rejected, TidegateError, type Code } from "./errors.js";
import { fetcher } from "./fetch.js";
import { CAUSES, type Call, type House, type Lane } from "./lane.js";
import {
  checkCall, checkCost, checkGate, checkPolicy, COUNTERS, EVENTS,
  type Caller, type CallOptions, type Cost, type Events, type Gate, type Options, type Permit, type RunOptions, type Snapshot, type Stats, type Why,
} from "./options.js";
import { write, type Policy } from "./policy.js";
import { isBlind, isHopeless, OUTCOMES, responseIn, tell, type Reply, type ResponseLike } from "./reply.js";
import { Guard, nap, race } from "./wait.js";

/** What `run` runs. */
type Work<T> = (signal: AbortSignal) => T | PromiseLike<T>;

/** What sets a call by `fetch` apart from others. */
export interface Manner<T> {
  /** Why it is not sent twice, if it is not. */
  readonly unsafe: "method" | "body" | undefined;
  /** What the result says, where the caller does not tell. */
  read(value: T, core: Core): Reply | Promise<Reply>;
  /** The result as the caller gets it: `free` gives the call's place back, and `end` also ends its signal. */
  hold(value: T, signal: AbortSignal | null | undefined, free: () => void, end: () => void): T;
}

/** A call, with what it is for. */
interface Job<T> extends Call {
  readonly lane: Lane;
  readonly work: Work<T>;
  readonly options: RunOptions<T> | undefined;
  readonly manner: Manner<T> | undefined;
  /** Where its signal is one of several, or has a deadline. */
  readonly guard: Guard | undefined;
  /** How many attempts were sent. */
  attempts: number;
  /** Why there is no other attempt after the last one, if the gate knows. */
  error: TidegateError | undefined;
}

/** A result, or an error. */
type Result<T> = { value: T; error?: undefined } | { value?: undefined; error: unknown };

/** No options. */
const NONE: CallOptions = {};

/** A later attempt goes on with its permit. */
const same = (_: Call, permit: number) => permit;

/** What the core answers where an attempt could not be sent by the deadline. */
const LATE = -2;

/** Why a later attempt is rejected; where nothing stands here, it comes too late. */
const WHYS: Partial<Record<Code, Why>> = { RETRY_BUDGET: "retryBudget", OVER_LIMIT: "limit", TOO_BIG: "limit", QUEUE_FULL: "queue" };

/** A call whose error says nothing of its cause has no more attempts. */
const FEW_ATTEMPTS = 3;

/** The first 32 calls whose keys wait for room look so often whether there is some, and others at least so often. One that is so late is lost. */
const LOOK = 5;
const OFTEN = 200;
const LOST = 20;

/** A kind of lanes, and how long one of their calls may take before it is taken for lost. */
export interface Lanes {
  new (key: string, gate: number, house: House): Lane;
  readonly expiry: number;
}

/** Makes the `tidegate` of an entry: from its core, how many laws that has, and its kind of lanes. */
export const maker = (load: () => Core, laws: number, Kind: Lanes) => (options: Options = {}): Gate => {
  checkGate(options);
  write(new Float64Array(18), options, laws, Kind.expiry);
  const { now = () => performance.now(), timers = globalThis, keys: most = 1000, queue = 10_000, warnAfter = 5_000 } = options;
  const lanes = new Map<string, Lane>();
  const listeners: { [E in keyof Events]?: Set<(event: Events[E]) => void> } = {};
  /** The counters of keys that were forgotten. */
  const past = nothing();
  let policy: Policy = options;
  let core: Core | undefined;
  let seed = options.seed;
  let closed = false;
  let latest: Lane | undefined;
  /** Whether the one warning was written, or a timer for it is set. */
  let warned = false;
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

  /** Writes the one warning. */
  const warn = (key: string, ms: number, what: string) => {
    warned = true;
    console.warn(`tidegate: a call of ${key || "the gate"} waits ${Math.ceil(ms / 100) / 10} s or more: ${what} (Give calls a deadline, or set warnAfter: Infinity to turn this off.)`);
  };

  /** Where a place in flight is waited for, nobody knows for how long: perhaps for ever. */
  const watch = () => {
    warned = true;
    const timer = timers.setTimeout(() => {
      warned = false;
      const since = now() - warnAfter;
      for (const { key, waiters } of lanes.values()) {
        const late = waiters.find((call) => call && call.since <= since && call.deadline !== call.deadline);
        if (late) return warn(key, warnAfter, "calls in flight have all places. A call inside another one of the same key may wait for ever: give it another key.");
      }
    }, warnAfter);
    (timer as { unref?(): void }).unref?.();
  };

  let house: House | undefined;
  const open = (): House =>
    (house ??= {
      core: (core = load()),
      now,
      timers,
      queue,
      paused: false,
      waits(lane, { deadline }, cause, ms) {
        emit("wait", () => ({ key: lane.key, cause, ms }));
        if (warned || deadline === deadline || warnAfter === Infinity) return;
        if (cause === "concurrency") watch();
        else if (ms >= warnAfter && cause !== "paused") {
          warn(lane.key, ms, cause === "cooldown" ? "the server asked for a cooldown." : "the limit is lower than the demand.");
        }
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
      write(core.row(), policy, laws, Kind.expiry);
      lane = admit(key, core.open(entropy(), entropy(), now(), queue));
    }
    lanes.set(key, lane);
    return (latest = lane);
  };

  const admit = (key: string, slot: number): Lane => {
    if (slot === -1) throw new TidegateError("MEMORY", "there is no memory for another key: lower the option keys");
    if (slot === -2) throw impossible();
    if (slot < 0) throw new TidegateError("SNAPSHOT", `the snapshot of ${key || "the gate"} is damaged, or of another law`);
    if (house!.paused) house!.core.pause(slot, true);
    return new Kind(key, slot, house!);
  };

  /** Forgets a lane, but for its counters. */
  const retire = (lane: Lane) => {
    lanes.delete(lane.key);
    if (latest === lane) latest = undefined;
    count(past, lane);
    past.inFlight = 0;
    lane.close();
  };

  /** Adds the counters of a lane. */
  const count = (sum: Stats, { house: { core }, gate, causes }: Lane) => {
    core.stats(gate);
    const row = core.row();
    COUNTERS.forEach((name, i) => name && (sum[name] += row[i]!));
    for (const cause of CAUSES) {
      sum.causes[cause] += causes[cause];
      sum.waits += causes[cause];
    }
  };

  /** Whether there is room for another key, for which the one that was idle longest is forgotten. */
  const hasRoom = (): boolean => {
    if (lanes.size < most) return true;
    const stale = now() - (policy.expiry ?? Kind.expiry);
    for (const lane of lanes.values()) {
      if (lane.isIdle(stale)) {
        retire(lane);
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
  const later = async <T>(call: Omit<Job<T>, "lane">, key: string): Promise<T> => {
    const { deadline, signal } = call;
    const entry = { turn: turns++, wakes: 0 };
    try {
      for (;;) {
        const time = now();
        if (time >= deadline) throw full();
        entries.add(entry);
        const rank = entry.turn - next(time)!.turn;
        const ms = Math.min(LOOK * (1 + (rank >> 5)), OFTEN, deadline > time ? deadline - time : OFTEN);
        entry.wakes = time + ms;
        await nap(timers, ms, signal);
        entry.wakes = 0;
        const lane = lanes.has(key) || next(now()) === entry ? laneOf(key) : undefined;
        if (lane) return begin(call, lane);
        if (closed) throw new Closed();
      }
    } finally {
      entries.delete(entry);
    }
  };

  const begin = <T>(call: Omit<Job<T>, "lane">, lane: Lane): T | Promise<T> => lane.enter(Object.assign(call, { lane, turn: lane.turns++ }), attempt);

  /** A call and its retries. Signals are linked from here to its end. */
  const go = <T>(work: Work<T>, options: RunOptions<T> | undefined, manner?: Manner<T>, more?: AbortSignal | null): Promise<T> => {
    let guard: Guard | undefined;
    try {
      if (options && !manner) checkCall(options);
      const { key = "", cost, priority = 0, deadline, signal: own } = options ?? NONE;
      let signal = own ?? more;
      // A signal of its own takes with it what `fetch` adds to it.
      if (deadline !== undefined || (signal && manner)) {
        guard = new Guard([own, more].filter((signal) => !!signal));
        signal = guard.signal;
      }
      const call: Omit<Job<T>, "lane"> = {
        work, options, manner, guard, signal, deadline: deadline === undefined ? NaN : now() + deadline,
        requests: requestsOf(cost), tokens: tokensOf(cost), priority, turn: 0, attempts: 0, slot: -1, place: -1,
        error: undefined, then: undefined, done: undefined, fail: undefined, stop: undefined, since: NaN, wakes: 0,
      };
      const lane = entries.size && next(now()) && !lanes.has(key) ? undefined : laneOf(key);
      const result = (lane ? begin(call, lane) : later(call, key)) as Promise<T>;
      // Where it was sent, it has ended its guard itself.
      return guard ? result.catch((error) => (guard!.end(), Promise.reject(error))) : result;
    } catch (error) {
      guard?.end();
      return Promise.reject(error);
    }
  };

  /** An attempt of a call that was admitted, and those after it. */
  const attempt = async <T>(call: Job<T>, permit: number): Promise<T> => {
    const { lane, work, options, manner, guard, signal } = call;
    const { key, house: { core } } = lane;
    const sent = now();
    const number = ++call.attempts;
    if (number === 1 && call.deadline > 0) guard!.arm(timers, call.deadline - sent);
    lane.calls++;
    const waited = sent - call.since || 0;
    call.since = NaN;
    emit("sent", () => ({ key, attempt: number, waited }));
    let result: Result<T>;
    try {
      const value = work((signal ?? (work.length ? new AbortController().signal : undefined))!);
      result = { value: await (signal ? race(value, signal) : value) };
    } catch (error) {
      result = { error };
    }
    let reply: Reply | undefined;
    let cost: Cost | undefined;
    try {
      const hasValue = "value" in result;
      if (options?.outcome) reply = await options.outcome(result as { value?: T; error?: unknown });
      if (!reply && hasValue && manner) reply = await manner.read(result.value as T, core);
      reply ??= responseIn(hasValue ? result.value : result.error) ?? (hasValue ? "ok" : signal?.aborted ? "abandoned" : "failed");
      if (hasValue && options?.actualCost) checkCost("actualCost", (cost = await options.actualCost(result.value as T)));
      lane.learn(permit, report(core, reply, cost));
    } catch (error) {
      // The caller's own functions have failed.
      if ("value" in result) discard(result.value);
      result = { error };
      lane.learn(permit, report(core, (reply = "abandoned"), undefined));
    }
    const { status } = reply as Partial<ResponseLike>;
    const outcome = OUTCOMES[lane.outcome]!;
    // The retry is the core's answer to the reply as it stands, which a listener's calls would change.
    const more = again(call, reply, result.error);
    emit("settled", () => ({ key, attempt: number, outcome, status, ms: now() - sent }));
    if (more < 0) return conclude(call, permit, result);
    lane.release(permit);
    if (lane.waiting) lane.changed();
    return retry(call, more, result);
  };

  /** The end of a call: its result, whose body may be on its way yet. A call that is not in flight has no permit. */
  const conclude = <T>(call: Job<T>, permit: number | undefined, result: Result<T>): T => {
    const { lane, guard, manner } = call;
    let isHeld = permit !== undefined;
    const free = () => {
      if (isHeld) lane.release(permit!);
      isHeld = false;
      if (lane.waiting) lane.changed();
    };
    const end = () => {
      free();
      guard?.end();
    };
    forget(call);
    if (!("value" in result)) {
      end();
      keepError(result.error, call.error);
      throw result.error;
    }
    let value = result.value as T;
    if (manner) {
      if (lane.waiting) lane.changed();
      value = manner.hold(value, call.signal, free, end);
    } else end();
    keepError(value, call.error);
    return value;
  };

  /** Tries a call again after a time; `result` is its end where it is not admitted again. */
  const retry = async <T>(call: Job<T>, ms: number, result: Result<T> | undefined): Promise<T> => {
    const { lane } = call;
    let permit;
    lane.calls++;
    try {
      if (ms) await nap(timers, ms, call.signal);
      const next = lane.enter(call, same);
      // Nobody reads the response before this one any more, and it would keep its connection.
      if (discard(result!.value)) result = undefined;
      permit = await next;
    } catch (rejection) {
      if (rejection instanceof TidegateError && !(rejection instanceof Closed)) {
        emit("gaveUp", () => ({ key: lane.key, attempt: call.attempts, why: WHYS[rejection.code] ?? "deadline" }));
        call.error = rejection;
        if (result) return conclude(call, undefined, result);
      }
      discard(result?.value);
      return conclude<T>(call, undefined, { error: rejection });
    } finally {
      lane.calls--;
    }
    return attempt(call, permit);
  };

  /** Frees what the core keeps of a call that was tried again. */
  const forget = ({ lane, slot }: Call & { lane: Lane }) => {
    if (slot >= 0) lane.house.core.forget(slot);
  };

  /** In how many milliseconds a call that has its outcome is tried again; -1 where it is not. */
  const again = <T>(call: Job<T>, reply: Reply, error: unknown): number => {
    const { lane, attempts: attempt, options } = call;
    const { key, outcome, house: { core } } = lane;
    const name = OUTCOMES[outcome]!;
    const isPushback = name === "throttled" || name === "busy";
    if (name === "exhausted") {
      call.error = new Rejected("EXHAUSTED", "the server's quota is used up, or the account may not make this call");
      emit("gaveUp", () => ({ key, attempt, why: name }));
    }
    // The server has answered, or nobody waits for it any more.
    if ((!isPushback && name !== "failed") || lane.closed) return -1;
    const time = now();
    const unsafe = call.manner?.unsafe;
    // A call that the server throttled was not served, so that any method can be sent again.
    const onlyThrottled = unsafe === "method" || options?.retry === "throttled";
    const isWanted = unsafe !== "body" && (onlyThrottled ? name === "throttled" : (options?.retry ?? isPushback));
    const isOver = isBlind(error) && attempt >= FEW_ATTEMPTS;
    const isRetried = isWanted && !isOver && !isHopeless(error);
    const cooldown = core.cooldown();
    const slot = isRetried ? core.retry(lane.gate, call.slot, time, call.deadline, call.requests, call.tokens) : -1;
    const ms = slot < 0 ? -1 : Math.max(core.not_before(slot) - time, 0);
    if (slot >= 0) call.slot = slot;
    const isLate = time + ms > call.deadline || slot === LATE;
    if (isPushback) {
      const { status } = reply as Partial<ResponseLike>;
      emit("throttled", () => ({ key, attempt, outcome: name, status, cooldown: cooldown >= 0 ? cooldown : undefined }));
    }
    if (ms >= 0 && !isLate) {
      emit("retry", () => ({ key, attempt: attempt + 1, ms: cooldown > ms ? cooldown : ms }));
      return ms;
    }
    const why = (isWanted ? undefined : unsafe) ?? (isLate ? "deadline" : !isWanted ? undefined : isRetried || isOver ? "attempts" : "error");
    if (why === "deadline") call.error = new DeadlineExceeded(Math.max(cooldown >= 0 ? cooldown : ms, 1));
    if (why) emit("gaveUp", () => ({ key, attempt, why }));
    return -1;
  };

  const tryAcquire: Gate["tryAcquire"] = (options) => {
    if (options) checkCall(options);
    const lane = laneOf(options?.key ?? "");
    if (!lane) throw full();
    const cost = options?.cost;
    const permit = lane.take(requestsOf(cost), tokensOf(cost));
    return permit >= 0 ? new Pass(lane, permit) : null;
  };

  const fetch = fetcher(options, go);

  /** The ways to make a call, with defaults for its options. */
  const caller = (defaults?: CallOptions): Caller => {
    const merged = <O extends CallOptions>(options: O | undefined): O | undefined => (defaults && options ? { ...defaults, ...options } : (options ?? (defaults as O | undefined)));
    const run: Caller["run"] = (work, options) => go(work, merged(options));
    return {
      run,
      fetch: (input, init, options) => fetch(input, init, merged(options)),
      wrap: (work, options) => (...args) => run(() => work(...args), options),
      tryAcquire: (options) => tryAcquire(defaults ? { key: defaults.key, cost: defaults.cost, ...options } : options),
      with(more) {
        checkCall(more);
        return caller({ ...defaults, ...more });
      },
    };
  };

  const stats: Gate["stats"] = (key) => {
    const sum = key === undefined ? { ...past, causes: { ...past.causes } } : nothing();
    for (const lane of lanes.values()) {
      if (key !== undefined && lane.key !== key) continue;
      count(sum, lane);
      sum.keys++;
      sum.waiting += lane.waiting;
      sum.interval = Math.max(sum.interval, lane.house.core.interval(lane.gate, 0, now()));
    }
    return sum;
  };

  const peek: Gate["peek"] = (key = "") => {
    const lane = lanes.get(key);
    if (!lane) return { wait: house?.paused ? Infinity : 0, cause: house?.paused ? "paused" : undefined, waiting: 0, inFlight: 0 };
    const { core, paused } = lane.house;
    const time = now();
    const cause = paused ? "paused" : CAUSES[core.why(lane.gate, -1, time, NaN, 1, 0) - 1];
    const { waiting, inFlight } = stats(key);
    return { wait: paused ? Infinity : core.peek(lane.gate, time), cause, waiting, inFlight };
  };

  const soonest: Gate["soonest"] = (keys) => {
    const ranks = keys.map((key) => {
      const { wait, cause, waiting, inFlight } = peek(key);
      return { key, ranks: [+(cause === "concurrency"), wait, waiting + inFlight] };
    });
    const [first] = ranks.sort(({ ranks: a }, { ranks: b }) => a[0]! - b[0]! || a[1]! - b[1]! || a[2]! - b[2]!);
    if (!first) throw new PolicyError("there are no keys to choose from");
    return first.key;
  };

  const on: Gate["on"] = (event, listener) => {
    if (!EVENTS.includes(event)) throw new PolicyError(`there is no event "${String(event)}"; the events are ${EVENTS.join(", ")}`);
    const set = ((listeners[event] as Set<typeof listener> | undefined) ??= new Set() as never) as Set<typeof listener>;
    set.add(listener);
    return () => void set.delete(listener);
  };

  const setPolicy: Gate["setPolicy"] = (next) => {
    checkPolicy(next);
    const { core } = open();
    write(core.row(), next, laws, Kind.expiry);
    for (const lane of lanes.values()) {
      if (!core.follow(lane.gate, now())) throw impossible();
      lane.changed();
    }
    policy = next;
  };

  const hold = (paused: boolean) => () => {
    const { core } = open();
    house!.paused = paused;
    for (const lane of lanes.values()) {
      core.pause(lane.gate, paused);
      lane.changed();
    }
  };

  // Each looks for itself, as nobody may wake another request's.
  const idle: Gate["idle"] = async () => {
    const isBusy = () => {
      const stale = now() - (policy.expiry ?? Kind.expiry);
      return !!entries.size || [...lanes.values()].some((lane) => !lane.isIdle(stale));
    };
    while (isBusy()) await nap(timers, LOOK, undefined);
  };

  const snapshot: Gate["snapshot"] = () => {
    const keys = [...lanes.values()].map(({ key, gate, house: { core } }): [string, string] => {
      const length = core.snapshot(gate, now());
      return [key, btoa(String.fromCharCode(...core.room().subarray(0, length)))];
    });
    return { at: Date.now(), keys };
  };

  const restore: Gate["restore"] = (snapshot) => {
    if (closed) throw new Closed();
    const { core } = open();
    for (const [key, record] of records(snapshot)) {
      const before = lanes.get(key);
      if (before && !before.isIdle()) continue;
      if (!before && !hasRoom()) throw full();
      write(core.row(), policy, laws, Kind.expiry);
      core.room().set(record.subarray(0, 4096));
      const lane = admit(key, core.restore(entropy(), entropy(), now(), record.length, Date.now() - snapshot.at, queue));
      if (before) retire(before);
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

  return { ...caller(), stats, peek, soonest, on, setPolicy, pause: hold(true), resume: hold(false), idle, snapshot, restore, close, [Symbol.dispose]: close };
};

/** The keys and records of a snapshot. */
function records({ at, keys }: Snapshot): [string, Uint8Array][] {
  try {
    if (Number.isFinite(at)) return keys.map(([key, record]) => [String(key), Uint8Array.from(atob(record), (character) => character.charCodeAt(0))]);
  } catch {
    // As below.
  }
  throw new TidegateError("SNAPSHOT", "this is no snapshot: pass what snapshot() returned, or what JSON.parse makes of it");
}

/** No counts. */
function nothing(): Stats {
  const sum = { keys: 0, waiting: 0, waits: 0, interval: 0, causes: { pacing: 0, cooldown: 0, concurrency: 0, retryBudget: 0, paused: 0 } } as Stats;
  for (const name of COUNTERS) if (name) sum[name] = 0;
  return sum;
}

class Pass implements Permit {
  #lane: Lane | undefined;
  readonly #permit: number;

  constructor(lane: Lane, permit: number) {
    lane.calls++;
    this.#lane = lane;
    this.#permit = permit;
  }

  settle(reply: Reply = "ok", actualCost?: Cost): void {
    const lane = this.#lane;
    if (!lane) return;
    checkCost("actualCost", actualCost);
    const outcome = report(lane.house.core, reply, actualCost);
    this.#lane = undefined;
    lane.learn(this.#permit, outcome);
    lane.release(this.#permit);
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

/** Prepares the core's reply for a call that has its outcome, and returns that outcome's number. */
function report(core: Core, reply: Reply, cost: Cost | undefined): number {
  const outcome = tell(core, reply);
  if (cost !== undefined) core.used(requestsOf(cost), tokensOf(cost));
  return outcome;
}

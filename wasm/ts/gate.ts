/** The gate: keys, calls and retries. Lanes queue the calls. */

import type { Bodies } from "./bodies.js";
import { discard } from "./body.js";
import type { Core } from "./core.js";
import type { Costs } from "./costs.js";
import { Closed, DeadlineExceeded, keepError, PolicyError, Rejected, TidegateError, type Code } from "./errors.js";
import { fetcher } from "./fetch.js";
import type { Call, Entry, House, Lane } from "./lane.js";
import {
  checkCall, checkGate, checkKey, checkPolicy, EVENTS, func,
  type Base, type Caller, type CallOptions, type Cost, type Events, type Gate, type Key, type Options, type Peek, type Permit, type RunOptions, type Why,
} from "./options.js";
import type { Few, Law } from "./law.js";
import { write, type Policy } from "./policy.js";
import { isBlind, isHopeless, isRefused, OUTCOMES, responseIn, tell, type Outcome, type Reply, type ResponseLike } from "./reply.js";
import { Guard, nap, race, type Timers } from "./wait.js";

/** The function that `run` runs. */
type Work<T> = (signal: AbortSignal) => T | PromiseLike<T>;

/** How calls by `fetch` differ. */
export interface Manner<T> {
  /** Whether the body can be sent only once. */
  readonly once: boolean;
  /** Reads the result, if the caller gives no outcome. */
  read(value: T, core: Core): Reply | Promise<Reply>;
  /** Whether the result is a stream that is read until it ends: it may begin with an error, and report tokens. */
  streams(value: T, core: Core): boolean | undefined;
  /** Wraps the result for the caller: `free` returns the call's place, `end` also releases its signal, and `look` reads a stream. */
  hold(value: T, signal: AbortSignal | null | undefined, free: () => void, end: () => void, look: ((bytes?: Uint8Array) => void) | undefined): T;
}

/** A call and its purpose. */
interface Job<T> extends Call {
  /** Set when its keys have room. */
  lane: Entry;
  readonly work: Work<T>;
  readonly options: RunOptions<T, Key> | undefined;
  readonly manner: Manner<T> | undefined;
  /** Set if the call has several signals or a deadline. */
  readonly guard: Guard | undefined;
  /** How many attempts have been sent. */
  attempts: number;
  /** Why there is no further attempt, if the gate knows. */
  error: TidegateError | undefined;
}

/** A result, or an error. */
type Result<T> = { value: T; error?: undefined } | { value?: undefined; error: unknown };

const NONE: CallOptions<Key> = {};

/** A retry keeps its permit. */
const same = (_: Call, permit: number) => permit;

/** After which outcomes a call is tried again, in the core's order. */
const [FAILED, REJECTED, INVITED, THROTTLED, NEVER] = [0, 1, 2, 3, 4] as const;

/** Why the core makes no other attempt, from its answer -1 on. */
const ENDS = ["attempts", "deadline", "method", "error"] as const satisfies readonly Why[];

/** Why a retry is rejected. A code that is not listed means too late. */
const WHYS: Partial<Record<Code, Why>> = { RETRY_BUDGET: "retryBudget", OVER_LIMIT: "limit", TOO_BIG: "limit", QUEUE_FULL: "queue" };

/** The longest cooldown, if the policy has no other: an hour. */
const MAX_COOLDOWN = 3_600_000;

/** Attempts of a call whose error says nothing about its cause. */
const FEW_ATTEMPTS = 3;

/**
 * Milliseconds after which the first 32 calls that wait for a free key check again, and the longest
 * such time for the others. A call that is later than this counts as lost.
 */
const LOOK = 5;
const OFTEN = 200;
const LOST = 20;

/** A lane class, and how long a call may take before it counts as lost. */
export interface Lanes {
  new (key: string, gate: number, house: House): Lane;
  readonly expiry: number;
}

/** What the parts of an entry use of a gate. */
export interface Inside {
  readonly now: () => number;
  readonly timers: Timers;
  readonly queue: number;
  readonly lanes: Map<string, Lane>;
  /** The lane of a key if it has one, or all lanes. */
  lanesOf(key: string | undefined): Iterable<Lane>;
  isPaused(): boolean;
  /** Whether places rest after calls. */
  hasGap(): boolean;
  /** Called before a lane is forgotten. */
  retired?(lane: Lane): void;
  make(key: string, begin: (core: Core, high: number, low: number) => number): Lane;
  retire(lane: Lane): void;
  hasRoom(): boolean;
  full(): TidegateError;
}

/** Accepts several keys where a gate expects one. */
export interface Several {
  lanes(laneOf: (key: string) => Lane | undefined, most: number): (key: Key) => Entry | undefined;
  peek(one: (key: string) => Peek): (key?: Key) => Peek;
}

/** What an entry has beside the calls of a gate. */
export interface Parts {
  /** Further methods. */
  more?(inside: Inside): object;
  several?: Several;
  costs?: Costs;
  bodies?: Bodies;
  warner?(inside: Inside, warnAfter: number | undefined): House["waits"];
  /** The options of the main entry that this one lacks. */
  lacks?: readonly string[];
}

/** Creates the `tidegate` of an entry, from its core, its number of laws, its lane class and its parts. */
export const maker = <M = unknown, K extends Key = string, L extends Law = Few>(load: () => Core, laws: number, Kind: Lanes, parts: Parts) => (options: Options<K, L> = {}): Gate<K, L> & M => {
  const { more, several, costs, bodies, warner, lacks } = parts;
  checkGate(options, lacks);
  write([], options, laws, Kind.expiry);
  const { now = clock(), timers = globalThis, keys: most = 1000, queue = 10_000 } = options;
  const lanes = new Map<string, Lane>();
  /** The lane of a key if it has one, or all lanes. */
  const lanesOf = (key: string | undefined): Iterable<Lane> => {
    if (key === undefined) return lanes.values();
    const lane = lanes.get(key);
    return lane ? [lane] : [];
  };
  const listeners: { [E in keyof Events]?: Set<(event: Events[E]) => void> } = {};
  let policy: Policy<Law> = options;
  let seed = options.seed;
  let closed = false;
  let latest: Lane | undefined;
  /** Calls that wait for a free key, each with the time of its next check; 0 while it checks. */
  const entries = new Set<{ readonly turn: number; wakes: number }>();
  let turns = 0;

  /** All calls have the same shape, so that the code for them stays fast. */
  const jobOf = <T>(work: Work<T>, options?: RunOptions<T, Key>, manner?: Manner<T>, guard?: Guard, signal?: AbortSignal | null, deadline = NaN): Job<T> => {
    const { cost, priority = 0 } = options ?? NONE;
    return {
      lane: undefined!, work, options, manner, guard, signal, deadline, requests: costs ? costs.requests(cost) : 1, tokens: costs ? costs.tokens(cost) : NaN, priority,
      turn: 0, attempts: 0, slot: -1, place: -1, error: undefined, done: undefined, fail: undefined, stop: undefined, since: NaN, wakes: 0,
    };
  };

  /** The request of a call without options. */
  const asks = jobOf(() => {});

  const emit = <E extends keyof Events>(event: E, told: Events[E]) => {
    listeners[event]?.forEach((listener) => {
      try {
        listener(told);
      } catch (error) {
        // A listener's error must not fail the call, so it is reported to the program.
        queueMicrotask(() => {
          throw error;
        });
      }
    });
  };

  let house: House | undefined;
  const open = (): House =>
    (house ??= {
      core: load(),
      now,
      timers,
      queue,
      paused: false,
      places: () => (policy.expiry === undefined && (policy.concurrency ?? +(policy.gap !== undefined))) || Infinity,
      waits(lane, call, cause, ms) {
        emit("wait", { key: lane.key, cause, ms });
        warn?.(lane, call, cause, ms);
      },
    });

  /** Prepares the core's reply for a finished call, and returns the outcome's number. */
  const report = (reply: Reply, cost?: Cost): number => {
    const { core } = house!;
    const outcome = tell(core, reply);
    if (cost !== undefined) core.used(costs!.requests(cost), costs!.tokens(cost));
    return outcome;
  };

  /** The cooldown that the current reply causes, in milliseconds; NaN without one. */
  const currentCooldown = () => Math.min(house!.core.cooldown(), policy.maxCooldown ?? MAX_COOLDOWN);

  const entropy = (): number => {
    if (seed !== undefined) return (seed = (seed + 1) >>> 0);
    return crypto.getRandomValues(new Uint32Array(1))[0]!;
  };

  /**
   * The lane of a key, created on first use. If there are too many, it replaces the lane that was
   * idle longest; `undefined` if none is idle.
   */
  const laneOf = (key: Key): Lane | undefined => {
    if (latest?.key === key) return latest;
    checkKey(key);
    let lane = lanes.get(key);
    if (lane) {
      lanes.delete(key);
    } else {
      if (!hasRoom()) return;
      lane = make(key, (core, high, low) => core.open(high, low, now(), queue));
    }
    lanes.set(key, lane);
    return (latest = lane);
  };

  /** The lane of a key, or the lanes of several. */
  const entryOf = several?.lanes(laneOf, most) ?? laneOf;

  /** Creates the lane of a key. `begin` creates its slot, with the policy in the core's row. */
  const make: Inside["make"] = (key, begin) => {
    if (closed) throw new Closed();
    const house = open();
    write(house.core.row(), policy, laws, Kind.expiry);
    const slot = begin(house.core, entropy(), entropy());
    if (slot === -1) throw new TidegateError("MEMORY", "out of memory for another key: lower the option keys");
    if (slot < 0) throw impossible();
    if (house.paused) house.core.pause(slot, true);
    return new Kind(key, slot, house);
  };

  /** Forgets a lane but keeps its counters. */
  const retire = (lane: Lane) => {
    lanes.delete(lane.key);
    if (latest === lane) latest = undefined;
    inside.retired?.(lane);
    lane.close();
  };

  /** Whether there is room for another key. Forgets the lane that was idle longest if necessary. */
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

  const full = () => new TidegateError("KEYS_FULL", `all ${most} keys have calls in progress: raise the option keys`);

  /** The first call that waits for a free key. A call that is overdue may never wake. */
  const next = (time: number) => {
    for (const entry of entries) {
      if (!entry.wakes || entry.wakes + LOST >= time) return entry;
      entries.delete(entry);
    }
    return;
  };

  /**
   * Starts a call once its key has room. Each call polls for itself, because it may not wake
   * another request's call.
   */
  const later = async <T>(call: Job<T>, key: Key): Promise<T> => {
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
        const lane = lanes.has(key as string) || next(now()) === entry ? entryOf(key) : undefined;
        if (lane) return begin(call, lane);
        if (closed) throw new Closed();
      }
    } finally {
      entries.delete(entry);
    }
  };

  const begin = <T>(call: Job<T>, lane: Entry): T | Promise<T> => {
    call.lane = lane;
    call.turn = lane.turns++;
    return lane.enter(call, attempt);
  };

  /** Starts a call without options. It has a job only if it waits, or if its outcome is not plain. */
  const start = <T>(lane: Lane, work: Work<T>): Promise<T> => {
    asks.turn = lane.turns++;
    const permit = lane.join(asks, now());
    if (permit >= 0) return quick(lane, permit, work);
    const call = jobOf(work);
    call.lane = lane;
    call.turn = asks.turn;
    lane.waiters[(call.place = asks.place)] = call;
    return lane.stay(call).then((permit) => attempt(call, permit));
  };

  /** The same as `attempt`, with the least that a value needs that is no response. An async function would take longer. */
  const quick = <T>(lane: Lane, permit: number, work: Work<T>): Promise<T> => {
    const sent = lane.used;
    const general = (result: Result<T>) => {
      const call = jobOf(work);
      call.lane = lane;
      return attempt(call, permit, result, sent);
    };
    const failed = (error: unknown) => general({ error });
    let value: T | PromiseLike<T>;
    try {
      value = work(undefined!);
    } catch (error) {
      return failed(error);
    }
    return Promise.resolve(value).then((value) => {
      let isPlain = false;
      try {
        isPlain = !listeners.settled && !responseIn(value);
      } catch {
        // A getter has failed, and fails again there.
      }
      if (!isPlain) return general({ value });
      lane.house.core.answer(0, NaN);
      const time = lane.learn(permit, 0);
      lane.release(permit, time);
      if (lane.waiting) lane.changed(time);
      return value;
    }, failed);
  };

  /** Runs a call and its retries. Signals are linked until it ends. */
  const go = <T>(work: Work<T>, options: RunOptions<T, Key> | undefined, manner?: Manner<T>, more?: AbortSignal | null): Promise<T> => {
    let guard: Guard | undefined;
    try {
      if (!manner) func("work", work);
      const plain = !options && !manner && !work.length && !entries.size && !listeners.sent && laneOf("");
      if (plain) return start(plain, work);
      if (options && !manner) checkCall(options, parts);
      const { key = "", deadline, attemptTimeout, signal: own } = options ?? NONE;
      let signal = own ?? more;
      // A separate signal: the listeners that `fetch` adds are dropped with it.
      if (deadline !== undefined || attemptTimeout !== undefined || (signal && manner)) {
        guard = new Guard([own, more].filter((signal) => !!signal));
        signal = guard.signal;
      }
      const call = jobOf(work, options, manner, guard, signal, deadline === undefined ? NaN : now() + deadline);
      const lane = entries.size && next(now()) && !lanes.has(key as string) ? undefined : entryOf(key);
      const result = (lane ? begin(call, lane) : later(call, key)) as Promise<T>;
      // A call that was sent has released its guard itself.
      return guard ? result.catch((error) => (guard!.end(), Promise.reject(error))) : result;
    } catch (error) {
      guard?.end();
      return Promise.reject(error);
    }
  };

  /** Runs an attempt of an admitted call, and later attempts. Or the first was `sent` then, and has its result. */
  const attempt = async <T>(call: Job<T>, permit: number, given?: Result<T>, sent = call.lane.used): Promise<T> => {
    const { lane, work, options, manner, guard, signal } = call;
    const { key, house: { core } } = lane;
    if (++call.attempts === 1 && call.deadline > 0) guard!.arm(timers, call.deadline - now(), () => new DeadlineExceeded(0));
    const waited = sent - call.since || 0;
    call.since = NaN;
    let result = given;
    if (!result) {
      let by = signal;
      let stop: (() => void) | undefined;
      try {
        // Another call that was admitted with it may have aborted it.
        signal?.throwIfAborted();
        if (listeners.sent) emit("sent", { key, attempt: call.attempts, waited });
        const limit = options?.attemptTimeout;
        if (limit !== undefined) {
          const own = new Guard([signal!]);
          by = own.signal;
          stop = own.arm(timers, limit, () => new TidegateError("ATTEMPT_TIMEOUT", `the attempt took longer than attemptTimeout, ${limit} ms`));
        }
        const value = work((by ?? (work.length ? new AbortController().signal : undefined))!);
        result = { value: await (by ? race(value, by) : value) };
      } catch (error) {
        result = { error };
      }
      stop?.();
    }
    let reply: Reply | undefined;
    let cost: Cost | undefined;
    let time;
    const settled = (outcome: Outcome, time: number) => {
      if (listeners.settled) emit("settled", { key, attempt: call.attempts, outcome, status: (reply as Partial<ResponseLike>).status, ms: time - sent });
    };
    let isStream = false;
    try {
      const hasValue = "value" in result;
      if (options?.outcome) reply = await options.outcome(result as { value?: T; error?: unknown });
      if (!reply && hasValue && manner) reply = await manner.read(result.value as T, core);
      reply ??= responseIn(hasValue ? result.value : result.error) ?? (hasValue ? "ok" : signal?.aborted ? "abandoned" : "failed");
      if (hasValue && options?.actualCost) costs!.check("actualCost", (cost = await options.actualCost(result.value as T)));
      isStream = hasValue && !!manner?.streams(result.value as T, core);
      const number = report(reply, cost);
      if (isStream && !number && (reply as Partial<ResponseLike>).status === 200 && !options?.outcome && !options?.actualCost) {
        forget(call);
        return hold(call, permit, result.value as T, manner!, isStream, (error) => {
          const time = lane.learn(permit, report(bodies!.begun(reply as ResponseLike, error)));
          const outcome = OUTCOMES[lane.outcome]!;
          noteLimit(call, outcome, 200);
          settled(outcome, time);
        });
      }
      time = lane.learn(permit, number);
    } catch (error) {
      // A function of the caller has failed.
      if ("value" in result) discard(result.value);
      result = { error };
      time = lane.learn(permit, report((reply = "abandoned")));
    }
    const outcome = OUTCOMES[lane.outcome]!;
    // The retry follows from the reply as it is now; listeners may make calls that change it.
    const more = again(call, reply, result.error, time);
    settled(outcome, time);
    if (more < 0) return conclude(call, permit, result, time, isStream);
    lane.release(permit, time);
    if (lane.waiting) lane.changed(time);
    return retry(call, more, result);
  };

  /** Ends a call with its result. A call that is not in flight has no permit. */
  const conclude = <T>(call: Job<T>, permit: number | undefined, result: Result<T>, time?: number, isStream = false): T => {
    const { lane, guard, manner } = call;
    const hasValue = "value" in result;
    forget(call);
    if (hasValue && manner) return hold(call, permit, result.value as T, manner, isStream);
    keepError(hasValue ? result.value : result.error, call.error);
    if (permit !== undefined) lane.release(permit, time);
    if (lane.waiting) lane.changed(time);
    guard?.end();
    if (!hasValue) throw result.error;
    return result.value as T;
  };

  /** Ends a call with a response, whose body may still arrive. `learn` is called once the beginning of a stream is known. */
  const hold = <T>(call: Job<T>, permit: number | undefined, value: T, manner: Manner<T>, isStream: boolean, learn?: (error: string) => void): T => {
    const { lane, guard, signal } = call;
    const keep = () => keepError(value, call.error);
    const stream = isStream ? bodies!.stream(lane, permit, learn && ((error) => (learn(error), keep()))) : undefined;
    const free = () => {
      stream?.free();
      if (permit !== undefined) lane.release(permit);
      permit = undefined;
      if (lane.waiting) lane.changed();
    };
    if (lane.waiting) lane.changed();
    const end = () => {
      free();
      guard?.end();
    };
    value = manner.hold(value, signal, free, end, stream?.look);
    keep();
    return value;
  };

  /** Retries a call after a time. If it is not admitted again, it ends with `result`. */
  const retry = async <T>(call: Job<T>, ms: number, result: Result<T> | undefined): Promise<T> => {
    const { lane } = call;
    let permit;
    lane.between++;
    try {
      if (ms) await nap(timers, ms, call.signal);
      const next = lane.enter(call, same);
      // The previous response is not read, and would keep its connection.
      if (discard(result!.value)) result = undefined;
      permit = await next;
    } catch (rejection) {
      if (rejection instanceof TidegateError && !(rejection instanceof Closed)) {
        emit("gaveUp", { key: lane.key, attempt: call.attempts, why: WHYS[rejection.code] ?? "deadline" });
        call.error = rejection;
        if (result) return conclude(call, undefined, result);
      }
      discard(result?.value);
      return conclude<T>(call, undefined, { error: rejection });
    } finally {
      lane.between--;
    }
    return attempt(call, permit);
  };

  /** Emits the event of an attempt that was throttled, whose server is overloaded, or whose quota is exhausted. */
  const noteLimit = <T>(call: Job<T>, outcome: Outcome, status: number | undefined) => {
    const { lane: { key }, attempts: attempt } = call;
    const cooldown = currentCooldown();
    if (outcome === "throttled" || outcome === "busy") emit("throttled", { key, attempt, outcome, status, cooldown: cooldown >= 0 ? cooldown : undefined });
    if (outcome !== "exhausted") return;
    call.error = new Rejected("EXHAUSTED", "the server's quota is used up, or the account is not allowed to make this call");
    emit("gaveUp", { key, attempt, why: outcome });
  };

  /** Frees the core's slot for a retried call. */
  const forget = ({ lane, slot }: Call & { lane: Entry }) => {
    if (slot >= 0) lane.house.core.forget(slot);
  };

  /** The delay in milliseconds until a call is retried; -1 if it is not. */
  const again = <T>(call: Job<T>, reply: Reply, error: unknown, time: number): number => {
    const { lane, attempts: attempt, options, manner } = call;
    const { key, outcome, house: { core } } = lane;
    const name = OUTCOMES[outcome]!;
    const isPushback = name === "throttled" || name === "busy";
    if (name === "exhausted") noteLimit(call, name, undefined);
    // The server has answered, or no caller waits any more.
    if ((!isPushback && name !== "failed") || lane.closed) return -1;
    const wish = options?.retry;
    // The server did not execute a refused stream.
    const most = wish === true || isRefused(error) ? FAILED : wish ? THROTTLED : manner ? INVITED : REJECTED;
    const isWanted = most <= (name === "throttled" ? THROTTLED : isPushback ? REJECTED : FAILED);
    const hopeless = isWanted && isHopeless(error);
    const isOver = manner?.once || wish === false || hopeless || (isWanted && isBlind(error) && attempt >= FEW_ATTEMPTS);
    const cooldown = currentCooldown();
    const slot = lane.retry(call, time, isOver ? NEVER : most);
    if (isPushback) noteLimit(call, name, (reply as Partial<ResponseLike>).status);
    if (slot >= 0) {
      const ms = Math.max(core.not_before((call.slot = slot)) - time, 0);
      emit("retry", { key, attempt: attempt + 1, ms: cooldown > ms ? cooldown : ms });
      return ms;
    }
    const why = manner?.once ? "body" : hopeless ? "error" : ENDS[-1 - slot]!;
    if (why === "deadline") call.error = new DeadlineExceeded(cooldown > 1 ? cooldown : 1);
    // The caller has said that it is not retried, or not said that it may be.
    if (wish !== false && (isWanted || slot > -3 || (manner && !wish))) emit("gaveUp", { key, attempt, why });
    return -1;
  };

  const tryAcquire: Caller<Key>["tryAcquire"] = (options) => {
    if (options) checkCall(options, parts);
    const lane = entryOf(options?.key ?? "");
    if (!lane) throw full();
    const cost = options?.cost;
    const permit = lane.take(costs ? costs.requests(cost) : 1, costs ? costs.tokens(cost) : NaN);
    if (!(permit >= 0)) return null;
    let isSettled = false;
    const settle: Permit["settle"] = (reply = "ok", actualCost) => {
      if (isSettled) return;
      costs?.check("actualCost", actualCost);
      const outcome = report(reply, actualCost);
      isSettled = true;
      const time = lane.learn(permit, outcome);
      lane.release(permit, time);
      if (lane.waiting) lane.changed(time);
    };
    return { settle, [Symbol.dispose]: () => settle("abandoned") };
  };

  const fetch = fetcher(options, go, parts);

  /** The functions that make calls, with default options. */
  const caller = (defaults?: CallOptions<Key>): Caller<Key> => {
    const merged = <O extends CallOptions<Key>>(options: O | undefined): O | undefined => (defaults && options ? { ...defaults, ...options } : (options ?? (defaults as O | undefined)));
    const run: Caller<Key>["run"] = (work, options) => go(work, merged(options));
    return {
      run,
      fetch: (input, init, options) => fetch(input, init, merged(options)),
      wrap(work, options) {
        func("work", work);
        return (...args) => run(() => work(...args), options);
      },
      tryAcquire: (options) => tryAcquire(defaults ? { key: defaults.key, cost: defaults.cost, ...options } : options),
      with(more) {
        checkCall(more, parts);
        return caller({ ...defaults, ...more });
      },
    };
  };

  const on: Base["on"] = (event, listener) => {
    if (!EVENTS.includes(event)) throw new PolicyError(`there is no event "${String(event)}"; the events are ${EVENTS.join(", ")}`);
    func("listener", listener);
    const set = ((listeners[event] as Set<typeof listener> | undefined) ??= new Set() as never) as Set<typeof listener>;
    set.add(listener);
    return () => void set.delete(listener);
  };

  const setPolicy: Base<Key, Law>["setPolicy"] = (next) => {
    checkPolicy(next, lacks);
    const { core } = open();
    write(core.row(), next, laws, Kind.expiry);
    for (const lane of lanes.values()) {
      if (!core.follow(lane.gate, now())) throw impossible();
      lane.changed();
    }
    policy = next;
  };

  const reset: Base["reset"] = (key) => {
    for (const lane of lanesOf(key)) {
      lane.house.core.reset(lane.gate, now());
      lane.changed();
    }
  };

  const halt = (paused: boolean) => () => {
    const { core } = open();
    house!.paused = paused;
    for (const lane of lanes.values()) {
      core.pause(lane.gate, paused);
      lane.changed();
    }
  };

  // Polls, because no request may wake another.
  const idle: Base["idle"] = async () => {
    const isBusy = () => {
      const stale = now() - (policy.expiry ?? Kind.expiry);
      return !!entries.size || [...lanes.values()].some((lane) => !lane.isIdle(stale));
    };
    while (isBusy()) await nap(timers, LOOK, undefined);
  };

  const close = () => {
    closed = true;
    latest = undefined;
    for (const lane of lanes.values()) lane.close();
    lanes.clear();
  };

  const inside: Inside = { now, timers, queue, lanes, lanesOf, isPaused: () => !!house?.paused, hasGap: () => !!policy.gap, make, retire, hasRoom, full };
  const warn = warner?.(inside, options.warnAfter);
  const gate: Base<Key, Law> = { ...caller(), on, setPolicy, reset, pause: halt(true), resume: halt(false), idle, close, [Symbol.dispose]: close };
  return { ...gate, ...more?.(inside) } as Gate<K, L> & M;
};

/** Returns the runtime's clock, which is looked up once, by the first call: that takes half as long as reading it. */
function clock(): () => number {
  let from: Performance | undefined;
  return () => (from ??= performance).now();
}

/** The core rejects the policy, although each number is valid. */
function impossible(): PolicyError {
  return new PolicyError("the policy's options contradict each other");
}

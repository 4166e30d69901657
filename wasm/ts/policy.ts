/** The policy: named options with units, encoded as an array of numbers for the core. */

import { PolicyError } from "./errors.js";
import { LAWS, type Few, type Law } from "./law.js";

/** A limit that you know. */
export interface Quota {
  /** How many calls (or tokens) a period allows. */
  limit: number;
  /** The period, in milliseconds. */
  per: number;
  /**
   * How many may be sent at once. A burst worth more than 570 years is rejected. @defaultValue 1 for requests; the
   * whole limit for tokens, or half of it if `strict`
   */
  burst?: number | undefined;
  /**
   * Whether no period of this length may have more than `limit`, wherever it begins, for servers that count a sliding
   * window. The rate is then `limit + 1 - burst` per `per` + 2 ms. Otherwise, a period that begins with a burst has up
   * to `limit + burst`. The limit holds for the times at which calls are sent: if network delay varies, add the
   * variation to `per`. @defaultValue false
   */
  strict?: boolean | undefined;
}

/** The policy of a gate. All options are optional and can be changed at run time. `L` are the laws of the entry. */
export interface Policy<L extends Law = Few> {
  /**
   * `"adaptive"` finds an unknown limit, and follows the server's hints. `"fixed"` never exceeds `requests` and
   * `tokens`. `"backoff"` sets no rate, and `"none"` sets neither a rate nor a delay between attempts. All of them
   * follow `Retry-After`. @defaultValue "fixed" with `requests` or `tokens`, else "adaptive"
   */
  law?: L | undefined;
  /**
   * For `adaptive`: the largest share of calls, from 0 to 0.125, that the gate may regard as rejected whatever the
   * rate. It slows down less for these, and little for a share of about 0.01. Choose a larger share if the server
   * rejects at random, or if other clients of its limit never slow down. Where the rate is the cause, up to this share
   * may be rejected in addition. @defaultValue 1/64
   */
  tolerance?: number | undefined;
  /** The limit on calls, if you know it. `fixed` and `adaptive` never exceed it; the share of `adaptive` may be smaller. */
  requests?: Quota | undefined;
  /** The limit on the `tokens` of `cost`. */
  tokens?: Quota | undefined;
  /** How many calls of a key may be in flight, from 1 to 65,535. @defaultValue no limit */
  concurrency?: number | undefined;
  /**
   * The pause between the end of a call and the start of the next, in milliseconds: each `concurrency` slot is free
   * this long after its call ends. Without `concurrency`, there is one slot. @defaultValue none
   */
  gap?: number | undefined;
  /**
   * How long a call counts as in flight if its end is never seen, in milliseconds. Node does not wait for it, unless
   * you set it. @defaultValue 300000; 30000 in edge workers, where calls end with their request
   */
  expiry?: number | undefined;
  /** The longest cooldown that a server can cause, in milliseconds. @defaultValue 3600000 */
  maxCooldown?: number | undefined;
  /**
   * The delay between attempts of a call: it doubles from `base` to `max` milliseconds, with full jitter.
   * @defaultValue none for `none`, and for `adaptive`, `autosleeper` and the `heroku` laws, which delay by
   * themselves; else 100 to 20000
   */
  backoff?: { base?: number | undefined; max?: number | undefined } | undefined;
  /** The number of attempts per call, including the first. @defaultValue 10; more at growing intervals in the first two minutes for throttled calls */
  attempts?: number | undefined;
  /** How long after the first failure a call may be retried, in milliseconds. @defaultValue no limit */
  elapsed?: number | undefined;
  /** Retries as a percentage of successes, plus `reserve` retries in advance. @defaultValue no limit; a reserve of 10 */
  retryBudget?: { percent: number; reserve?: number | undefined } | undefined;
}

/** A value in an error's text. */
export function told(value: unknown): string {
  return typeof value === "string" || Array.isArray(value) ? JSON.stringify(value) : String(value);
}

/** Throws if an object has an unknown property. `calls` are the options of a call, and `lacks` those that the entry lacks. */
export function among(given: object, names: readonly string[], where: string, calls: readonly string[] = [], lacks: readonly string[] = []): void {
  if (typeof given !== "object" || given === null) throw new PolicyError(`the options ${where} are ${told(given)}; they must be an object`);
  for (const name in given) {
    if (lacks.includes(name)) throw new PolicyError(`the option "${name}" is in tidegate, not in tidegate/lite`);
    if (!names.includes(name) && calls.includes(name)) throw new PolicyError(`${name} is an option of a call: pass it to the call, or to gate.with({ ${name} })`);
    if (!names.includes(name)) throw new PolicyError(`there is no option "${name}" ${where}; the options are ${names.filter((name) => !lacks.includes(name)).join(", ")}`);
  }
}

/** For numbers that the core counts with. */
const WHOLE = "a whole number";
const MANY = 0xffffffff;

/** The longest time of a burst, in milliseconds. */
const LONGEST_BURST = 4.6e12;

/** Encodes the policy. Throws a `PolicyError` that names an invalid option. */
export function write(row: Float64Array | number[], policy: Policy<Law>, laws: number, expiry: number, places = 65_535): void {
  const { requests, tokens, backoff, retryBudget } = policy;
  const law = LAWS.indexOf(policy.law ?? (requests || tokens ? "fixed" : "adaptive"));
  if (law < 0) throw new PolicyError(`there is no law "${policy.law}"; the laws are ${LAWS.join(", ")}`);
  if (law >= laws) throw new PolicyError(`the law "${policy.law}" is only in tidegate/full`);
  if (policy.law === "fixed" && !requests && !tokens) throw new PolicyError('the law "fixed" needs a limit: set requests or tokens, or omit law to find the limit');
  if (policy.tolerance !== undefined && LAWS[law] !== "adaptive") throw new PolicyError(`the law "${LAWS[law]}" has no tolerance: set law to "adaptive", or omit tolerance`);
  let at = 0;
  const put = (name: string, value: number | undefined, least: number, most: number, kind = "a number") => {
    if (value !== undefined && !(value >= least && value <= most && (kind !== WHOLE || Number.isInteger(value)))) {
      throw new PolicyError(`${name} is ${value === value ? told(value) : "NaN or missing"}; it must be ${kind} from ${least} to ${most}`);
    }
    row[at++] = value ?? NaN;
  };
  const limit = (name: string, quota: Quota | undefined) => {
    row[at++] = law;
    if (quota) among(quota, ["limit", "per", "burst", "strict"], `of ${name}`);
    put(`${name}.limit`, quota && (quota.limit ?? NaN), 1, MANY, WHOLE);
    put(`${name}.per`, quota && (quota.per ?? NaN), 1e-6, 1e12);
    const { limit = 1, per = 1, strict = false } = quota ?? {};
    if (typeof strict !== "boolean") throw new PolicyError(`${name}.strict is ${told(strict)}; it must be true or false`);
    if (strict && quota!.burst! > limit) throw new PolicyError(`${name}.burst is ${quota!.burst}, and strict allows at most the limit, ${limit}: lower burst, or omit strict`);
    // A strict burst takes (per + 2) / (limit + 1 - burst) for each of its calls.
    const most = strict ? Math.min(limit, Math.floor(LONGEST_BURST / (LONGEST_BURST + per + 2) * (limit + 1))) : Math.min(MANY, Math.floor(LONGEST_BURST / per * limit));
    const burst = name === "tokens" ? Math.min(strict ? Math.ceil(limit / 2) : limit, most) : 1;
    put(`${name}.burst`, quota && (quota.burst ?? burst), 1, most, WHOLE);
    // A negative burst means strict: see `quota` in src/number.rs.
    if (strict) row[at - 1]! *= -1;
  };
  limit("requests", requests);
  limit("tokens", tokens);
  put("concurrency", policy.concurrency, 1, places, WHOLE);
  put("expiry", policy.expiry ?? expiry, 1, 1e12);
  put("maxCooldown", policy.maxCooldown, 1, 1e12);
  if (backoff) among(backoff, ["base", "max"], "of backoff");
  if (retryBudget) among(retryBudget, ["percent", "reserve"], "of retryBudget");
  put("backoff.base", backoff?.base, 1e-6, 1e12);
  const base = backoff?.base ?? 100;
  put("backoff.max", backoff?.max ?? (base > 20_000 ? base : undefined), base, 1e12);
  put("attempts", policy.attempts, 1, 65_535, WHOLE);
  put("elapsed", policy.elapsed, 0, 1e12);
  put("retryBudget.percent", retryBudget && (retryBudget.percent ?? NaN), 1, 1e6, WHOLE);
  put("retryBudget.reserve", retryBudget && (retryBudget.reserve ?? 10), 1, 1e6, WHOLE);
  put("tolerance", policy.tolerance, 0, 0.125);
  put("gap", policy.gap, 0, 1e12);
}

// The rules of servers: whether a call may pass, how many more may, and when. Times are
// milliseconds since 1970.

/**
 * A token bucket that refills continuously: `size` and `rate` a second, in points. A call takes
 * `cost`.
 */
class Bucket {
  #level;
  #at;

  constructor({ size, rate, cost = 1 }, now, left) {
    Object.assign(this, { size, rate, cost, limit: Math.floor(size / cost) });
    this.#level = size * left;
    this.#at = now;
  }

  points(now) {
    this.#level = Math.min(this.size, this.#level + ((now - this.#at) * this.rate) / 1_000);
    this.#at = now;
    return this.#level;
  }

  take(now) {
    // A millionth of a point is a rounding error.
    const fits = this.points(now) >= this.cost - 1e-6;
    if (fits) this.#level -= this.cost;
    return fits;
  }

  left = (now) => Math.floor(this.points(now) / this.cost + 1e-6);
  /** Time until one more call fits. */
  wait = (now) => Math.max(0, ((this.cost - this.points(now)) * 1_000) / this.rate);
  /** Time until the whole quota is available. */
  reset = (now) => ((this.size - this.points(now)) * 1_000) / this.rate;
}

/** The elapsed part of a window that others have exhausted. */
const OVER = 0.4;

/**
 * Calls per window. A window begins with the first call, or with that call's second if resets are
 * in seconds.
 */
class Window {
  #begin;
  #used;

  constructor({ limit, period, seconds }, now, left) {
    Object.assign(this, { limit, period, seconds });
    this.#used = Math.round(limit * (1 - left));
    if (!left) this.#open(now - OVER * period);
  }

  #open(now) {
    this.#begin = this.seconds ? Math.floor(now / 1_000) * 1_000 : now;
  }

  #turn(now) {
    if (this.#begin === undefined) this.#open(now);
    const over = Math.floor((now - this.#begin) / this.period);
    if (over > 0) {
      this.#begin += over * this.period;
      this.#used = 0;
    }
  }

  take(now) {
    this.#turn(now);
    return this.#used < this.limit && !!++this.#used;
  }

  left(now) {
    this.#turn(now);
    return this.limit - this.#used;
  }

  reset(now) {
    this.#turn(now);
    return this.#begin + this.period - now;
  }

  wait = (now) => (this.left(now) ? 0 : this.reset(now));
}

/** Calls in any period of this length. */
class Sliding {
  #times = [];

  constructor({ limit, period }, now, left) {
    Object.assign(this, { limit, period });
    this.#times = Array(Math.round(limit * (1 - left))).fill(now - OVER * period);
  }

  left(now) {
    while (this.#times[0] <= now - this.period) this.#times.shift();
    return this.limit - this.#times.length;
  }

  take = (now) => this.left(now) > 0 && !!this.#times.push(now);
  wait = (now) => (this.left(now) ? 0 : this.#times[0] + this.period - now);
  reset = (now) => (this.#times.length ? this.#times.at(-1) + this.period - now : 0);
}

/**
 * Concurrent calls, each of which takes `lasts`. Others that occupy all places keep them for two
 * seconds.
 */
class Concurrency {
  #ends = [];

  constructor({ limit, lasts }, now, left) {
    Object.assign(this, { limit, lasts });
    this.#ends = left ? [] : Array(limit).fill(now + 2_000);
  }

  left(now) {
    while (this.#ends[0] <= now) this.#ends.shift();
    return this.limit - this.#ends.length;
  }

  take = (now) => this.left(now) > 0 && !!this.#ends.push(now + this.lasts);
  wait = (now) => (this.left(now) ? 0 : this.#ends[0] - now);
  reset = this.wait;
}

const KINDS = { bucket: Bucket, window: Window, sliding: Sliding, concurrency: Concurrency };

/** Starts a rule at `now`, with the share `left` of its quota. */
export const start = (rule, now, left) => new KINDS[rule.kind](rule, now, left);

/**
 * When the last of `calls` calls passes if a single client knows the rule and all calls exist from
 * `now` on.
 */
export function ideal(rule, now, left, calls) {
  const at = start(rule, now, left);
  let time = now;
  for (let passed = 0; passed < calls; ) {
    if (at.take(time)) passed++;
    else time += Math.max(at.wait(time), 0.001);
  }
  return time - now;
}

/** The long-term rate of the rule, in calls a second. */
export const rate = ({ kind, rate, cost = 1, limit, period, lasts }) =>
  kind === "bucket" ? rate / cost : (limit * 1_000) / (period ?? lasts);

/** The rule of a plan a hundred times as large, with the provider's own period. */
export const large = (rule, scale) => ({
  ...rule,
  ...(rule.kind === "bucket" && { size: rule.size * 100, rate: (rule.rate * 100) / scale }),
  ...(rule.period && { limit: rule.limit * 100, period: rule.period * scale }),
});

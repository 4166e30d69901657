/** The laws, in the order of core's registry: `BLESS=1 cargo test -p tidegate --test registry` writes them. */

/** The number of laws that `tidegate` contains, the first ones. `tidegate/full` contains all. */
export const FEW = 4;
export type Few = (typeof LAWS)[0 | 1 | 2 | 3];

/** The name of every law. */
export const LAWS = [
  "adaptive",
  "fixed",
  "none",
  "backoff",
  "aimd",
  "vegas",
  "aimd-concurrency",
  "autosleeper",
  "tchannel",
  "heroku-gradual",
  "heroku-proportional",
  "heroku-remaining",
] as const;

/**
 * How the rate responds to outcomes.
 *
 * - `"adaptive"`: for an unknown limit of any size: finds the rate, and follows every hint of the server
 * - `"fixed"`: for a limit that you know and share with nobody: keeps a quota
 * - `"none"`: no rate and no delay between attempts, but follows `Retry-After`; for comparison
 * - `"backoff"`: no rate: each call backs off by itself
 * - `"aimd"`: for an unknown limit of 5 to 500 calls a second per client: halves the rate when throttled
 * - `"vegas"`: for servers that queue: a concurrency limit that falls when calls take longer
 * - `"aimd-concurrency"`: for servers that queue: a concurrency limit that falls by a tenth when throttled
 * - `"autosleeper"`: for few and long calls: a delay that grows on failure and shrinks after ten successes
 * - `"tchannel"`: TChannel's limit for each second, which busy responses halve
 * - `"heroku-gradual"`: the Heroku client's strategy: each success shortens the sleep by a constant
 * - `"heroku-proportional"`: the Heroku client's strategy: each success shortens the sleep by a fraction
 * - `"heroku-remaining"`: the Heroku client's strategy: a success shortens the sleep more if more calls are left
 */
export type Law = (typeof LAWS)[number];

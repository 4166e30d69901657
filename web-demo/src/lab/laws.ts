/** A one-line description of each law. */

import { put, type Scenario } from "./state";

/** Clients without any gate: `none` with a server that sends no hints, because `none` follows Retry-After. */
export const NO_GATE = "no-gate";

/** The law and the world to run: clients without a gate read no hints. */
export const worldOf = (law: string, scenario: Scenario): [string, Scenario] =>
  law === NO_GATE ? ["none", put(scenario, ["server", "hints"], undefined)] : [law, scenario];

const LINES: Record<string, string> = {
  [NO_GATE]: "plain calls: no limit, no delay, no hints read",
  adaptive: "for an unknown limit of any size: finds the rate, and follows every hint of the server",
  fixed: "for a limit that you know and share with nobody: keeps a quota",
  none: "no rate and no delay between attempts, but follows Retry-After; for comparison",
  backoff: "no rate: each call backs off by itself",
  aimd: "for an unknown limit of 5 to 500 calls a second per client: halves the rate when throttled",
  vegas: "for servers that queue: a concurrency limit that falls when calls take longer",
  "aimd-concurrency": "for servers that queue: a concurrency limit that falls by a tenth when throttled",
  autosleeper: "for few and long calls: a delay that grows on failure and shrinks after ten successes",
  tchannel: "TChannel's limit for each second, which busy responses halve",
  "aws-cubic": "the adaptive mode of the AWS SDKs",
  "heroku-gradual": "the Heroku client's strategy: each success shortens the sleep by a constant",
  "heroku-proportional": "the Heroku client's strategy: each success shortens the sleep by a fraction",
  "heroku-remaining": "the Heroku client's strategy: a success shortens the sleep more if more calls are left",
  "nall-aimd": "Nall.RateLimiting.Adaptive for .NET, AIMD: adds to the rate, and cuts it by 30 % when throttled",
  "nall-cubic": "Nall.RateLimiting.Adaptive for .NET, CUBIC: returns to the last rate, then searches faster",
  "request-rate-limiter": "the Rust crate request-rate-limiter: 10 a second more with each success, a fifth less when throttled",
  "lance-aimd": "lance-core's AIMD for object stores: adds to the rate, and halves it when throttled",
  oracle: "sees the server and sends each call when it will be served: the best possible",
  "oracle-obedient": "the oracle, but it obeys Retry-After as every client must",
};

/** A law's description; for a pair, both. */
export const lineOf = (law: string): string | null =>
  LINES[law] ?? (law.includes("+") ? law.split("+").map((half) => LINES[half] ?? half).join("; and ") : null);

// The clients: the npm package with default settings, and alternatives. A client is created for a
// provider, and may know its limit (`rule`, and how many processes share it). It returns a function
// that sends one call with its retries. Each package is loaded only if it is used.

import { setTimeout as sleep } from "node:timers/promises";
import { isThrottled, PROVIDERS } from "./providers.mjs";

/**
 * Attempts per call, for clients that have to be configured: the default of tidegate. p-retry makes
 * one more.
 */
const ATTEMPTS = 10;

/** One attempt, which rejects if the server throttled it. */
const once = (provider) => async (url, init) => {
  const response = await fetch(url, init);
  const body = await response.text();
  if (isThrottled(provider, response.status, body)) throw Object.assign(new Error(`throttled: ${response.status}`), { response });
};

const gate = (options) => async () => {
  const { tidegate } = await import("tidegate");
  const gate = tidegate();
  return async (url, init) => (await gate.fetch(url, init, options)).text();
};

/** The calls per period of a rule, divided among the processes. */
function part({ kind, size, rate, cost = 1, limit, period, lasts }, processes) {
  const [calls, time] = kind === "bucket" ? [Math.floor(size / cost), (size / rate) * 1_000] : [limit, period ?? lasts];
  const own = Math.max(1, Math.floor(calls / processes));
  return { own, time: (time * own * processes) / calls };
}

/**
 * Calls are spaced if the period is shorter than this, because late timers would merge two bursts.
 */
const SHORT = 2_000;
/** How much slower than the limit, to allow for variable travel times. */
const SLACK = 1.02;

/** The settings of `p-queue`. */
function interval(rule, processes) {
  const { own, time } = part(rule, processes);
  return time < SHORT ? { intervalCap: 1, interval: Math.ceil((time / own) * SLACK) } : { intervalCap: own, interval: Math.ceil(time * SLACK) };
}

/** The settings of `bottleneck`. Its reservoirs are refilled at multiples of 250 ms. */
function reservoir(rule, processes) {
  const { own, time } = part(rule, processes);
  if (rule.kind === "concurrency") return { maxConcurrent: own };
  if (time < SHORT) return { minTime: Math.ceil((time / own) * SLACK) };
  if (rule.kind !== "bucket") return { reservoir: own, reservoirRefreshAmount: own, reservoirRefreshInterval: 250 * Math.ceil((time * SLACK) / 250) };
  // Often enough that rounding to whole numbers loses almost none of the rate.
  const gains = (ms) => (own / time) * ms + 1e-9;
  const intervals = Array.from({ length: 20 }, (_, n) => 250 * (n + 1)).filter((ms) => gains(ms) >= 1);
  const loss = (ms) => (gains(ms) % 1) / gains(ms);
  const reservoirIncreaseInterval = intervals.find((ms) => loss(ms) < 0.01) ?? intervals.sort((a, b) => loss(a) - loss(b))[0];
  const reservoirIncreaseAmount = Math.floor(gains(reservoirIncreaseInterval));
  return { reservoir: own, reservoirIncreaseAmount, reservoirIncreaseInterval, reservoirIncreaseMaximum: own };
}

/** By name. The first is tidegate. */
export const CLIENTS = {
  tidegate: gate(),
  "tidegate, retry: true": gate({ retry: true }),
  async "plain fetch"() {
    return async (url, init) => (await fetch(url, init)).text();
  },
  async "p-retry"(provider) {
    const { default: pRetry } = await import("p-retry");
    const attempt = once(provider);
    return (url, init) => pRetry(() => attempt(url, init));
  },
  async ky(provider) {
    const { default: ky } = await import("ky");
    const statusCodes = [408, 413, 429, 500, 502, 503, 504, provider.throttled.status].filter((status) => status !== 200);
    const client = ky.create({ timeout: false, retry: { limit: ATTEMPTS - 1, statusCodes, methods: ["get", "put", "head", "delete", "post"] } });
    return (url, init) => client(url, init).text();
  },
  async bottleneck(provider, rule, processes) {
    const { default: Bottleneck } = await import("bottleneck");
    const limiter = new Bottleneck(reservoir(rule, processes));
    limiter.on("failed", (_, { retryCount }) => (retryCount < ATTEMPTS - 1 ? 1_000 : undefined));
    const attempt = once(provider);
    return (url, init) => limiter.schedule(() => attempt(url, init));
  },
  async "p-queue"(provider, rule, processes) {
    const [{ default: PQueue }, { default: pRetry }] = await Promise.all([import("p-queue"), import("p-retry")]);
    const queue = new PQueue({ ...interval(rule, processes), strict: true });
    const attempt = once(provider);
    return (url, init) => pRetry(() => queue.add(() => attempt(url, init)));
  },
  async "smithy adaptive"(provider) {
    const { AdaptiveRetryStrategy } = await import("@smithy/util-retry");
    const strategy = new AdaptiveRetryStrategy(async () => ATTEMPTS);
    const attempt = once(provider);
    return async (url, init) => {
      let token = await strategy.acquireInitialRetryToken("");
      for (;;) {
        try {
          await attempt(url, init);
          return strategy.recordSuccess(token);
        } catch (error) {
          // Like its middleware, which reads a wait only from this header.
          const after = Number(error.response?.headers.get("retry-after"));
          const retryAfterHint = after ? new Date(Date.now() + after * 1_000) : undefined;
          token = await strategy.refreshRetryTokenForRetry(token, { errorType: "THROTTLING", retryAfterHint });
          await sleep(token.getRetryDelay());
        }
      }
    };
  },
  async octokit() {
    const [{ Octokit }, { throttling }] = await Promise.all([import("@octokit/core"), import("@octokit/plugin-throttling")]);
    const again = (_after, _options, _octokit, count) => count < ATTEMPTS - 1;
    const log = { debug() {}, info() {}, warn() {}, error() {} };
    const octokit = new (Octokit.plugin(throttling))({ log, throttle: { onRateLimit: again, onSecondaryRateLimit: again } });
    return (url, { method }) => octokit.request({ method, url: new URL(url).pathname, baseUrl: new URL(url).origin });
  },
};

/**
 * The load of a process: `calls` at once, one after the other, or one every `every` milliseconds.
 */
async function call(send, url, { process: own, calls, order, every, method }) {
  const init = { method, ...(method === "POST" && { body: "{}", headers: { "content-type": "application/json" } }) };
  const one = (n) => send(`${url}/calls/${own}-${n}`, init).catch(() => {});
  if (order === "sequential") {
    for (let n = 0; n < calls; n++) await one(n);
    return;
  }
  const began = performance.now();
  const all = [];
  for (let n = 0; n < calls; n++) {
    if (every && n) await sleep(Math.max(0, began + n * every - performance.now()));
    all.push(one(n));
  }
  await Promise.all(all);
}

// A process of the benchmark takes part in many rows at a time. It prepares for a task, and starts
// on command.
if (process.send) {
  process.on("disconnect", () => process.exit());
  const ready = new Map();
  process.on("message", async ({ row, task }) => {
    if (!task) return ready.get(row)();
    const provider = PROVIDERS.find(({ name }) => name === task.provider);
    const send = await CLIENTS[task.client](provider, task.rule, task.processes);
    ready.set(row, async () => {
      ready.delete(row);
      await call(send, task.url, task);
      process.send({ row, is: "done" });
    });
    process.send({ row, is: "ready" });
  });
}

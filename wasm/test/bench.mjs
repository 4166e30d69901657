// Measures the cost of a call that does not wait: `node bench.mjs [--json | --markdown]`. Prints the
// least processor time of five rounds, which depends little on other programs. `--markdown` writes the
// table in costs.md.

import { AdaptiveRetryStrategy } from "@smithy/util-retry";
import Bottleneck from "bottleneck";
import { bulkhead, ExponentialBackoff, handleAll, retry, wrap } from "cockatiel";
import { RateLimiter } from "limiter";
import pLimit from "p-limit";
import PQueue from "p-queue";
import pThrottle from "p-throttle";
import { tidegate } from "tidegate";
import { pacing } from "tidegate/pacing";

const noop = async () => {};
const gate = tidegate();
const fixed = tidegate({ law: "fixed", requests: { limit: 1e9, per: 1_000, burst: 1e6 } });
const stopped = tidegate({ law: "fixed", requests: { limit: 1, per: 1e12 }, now: () => 5 });
stopped.tryAcquire();
const stepping = tidegate({ now: () => 5 });
const fast = pacing({ limit: 1e9, per: 1_000, burst: 1e6 });
const bottleneck = new Bottleneck();
const limit = pLimit(Infinity);
const window = pLimit(128);
const throttled = pThrottle({ limit: 1e12, interval: 1_000 })(noop);
const queue = new PQueue();
const limiter = new RateLimiter({ tokensPerInterval: 1e12, interval: "second" });
const policy = wrap(retry(handleAll, { maxAttempts: 3, backoff: new ExponentialBackoff() }), bulkhead(1e6));
const smithy = new AdaptiveRetryStrategy(async () => 3);

/** The number of calls of a round, and the call. Synchronous ones are marked. */
const CALLS = [
  ["await (async () => {})()", 200_000, () => noop()],
  ["tidegate run", 200_000, () => gate.run(noop)],
  ["tidegate run, fixed", 200_000, () => fixed.run(noop)],
  ["tidegate tryAcquire + settle", 200_000, () => gate.tryAcquire().settle(), "sync"],
  ["tidegate tryAcquire + settle, clock given", 200_000, () => stepping.tryAcquire().settle(), "sync"],
  ["tidegate tryAcquire, not now, clock given", 200_000, () => stopped.tryAcquire(), "sync"],
  ["tidegate/pacing take", 200_000, () => fast.take(), "sync"],
  ["performance.now()", 200_000, () => performance.now(), "sync"],
  ["bottleneck schedule", 300, () => bottleneck.schedule(noop)],
  ["p-limit", 200_000, () => limit(noop)],
  ["p-limit, 128 at once, as tidegate", 200_000, () => window(noop)],
  ["p-throttle", 50_000, () => throttled()],
  ["p-queue add", 50_000, () => queue.add(noop)],
  ["limiter removeTokens", 200_000, () => limiter.removeTokens(1)],
  ["cockatiel retry + bulkhead", 200_000, () => policy.execute(noop)],
  ["@smithy/util-retry adaptive", 100_000, async () => {
    const token = await smithy.acquireInitialRetryToken("");
    await noop();
    smithy.recordSuccess(token);
  }],
];

const ns = async (calls, round) => {
  let least = Infinity;
  for (let i = 0; i < 5; i++) {
    const before = process.cpuUsage();
    await round();
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, ((user + system) * 1_000) / calls);
  }
  return Math.round(least);
};

const rows = [];
const kind = process.argv[2];
const plain = !kind;
for (const [name, calls, call, sync] of CALLS) {
  const one = await ns(calls, async () => {
    if (sync) for (let i = 0; i < calls; i++) call();
    else for (let i = 0; i < calls; i++) await call();
  });
  const burst = sync ? undefined : await ns(calls, async () => {
    for (let left = calls; left > 0; left -= 1_000) await Promise.all(Array.from({ length: Math.min(left, 1_000) }, call));
  });
  rows.push({ name, one, burst });
  if (!plain) continue;
  if (rows.length === 1) console.log(`${"call".padEnd(44)} ${"one by one".padStart(12)} ${"in a thousand".padStart(14)}   ns of processor time, Node ${process.version}`);
  console.log(`${name.padEnd(44)} ${String(one).padStart(12)} ${String(burst ?? "").padStart(14)}`);
}
if (kind === "--json") console.log(JSON.stringify(rows, null, 2));
if (kind === "--markdown") {
  console.log(`| ns of processor time, Node ${process.version} | one by one | in bursts of a thousand |\n|---|--:|--:|`);
  for (const { name, one, burst } of rows) console.log(`| ${name} | ${one} | ${burst ?? ""} |`);
}
process.exit();

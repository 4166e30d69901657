// Gates, keys, permits and calls leave no memory behind.

import assert from "node:assert/strict";
import test from "node:test";
import { createClient } from "redis";
import { tidegate } from "tidegate";
import { pacing } from "tidegate/pacing";
import { tidegate as shared } from "tidegate/redis";

const MANY = 100_000;
/** Forty bytes for each of them. */
const MOST = 4_000_000;

test("a hundred thousand disposed gates need no more memory than a thousand", () => {
  const round = (gates) => {
    for (let i = 0; i < gates; i++) {
      const gate = tidegate({ seed: i });
      gate.tryAcquire().settle();
      gate[Symbol.dispose]();
    }
    return process.memoryUsage().external + process.memoryUsage().arrayBuffers;
  };
  const before = round(1_000);
  const after = round(MANY);
  assert.ok(after - before < MOST, `${after - before} bytes more`);
});

/** The bytes outside the heap after dropping what `make` makes this many times, with a collection after each `step`. */
async function dropped(count, step, make) {
  for (let i = 0; i < count; i++) {
    await make(i);
    if (i % step) continue;
    globalThis.gc();
    await new Promise(setImmediate);
  }
  return process.memoryUsage().external;
}

test("twenty thousand gates that are dropped need no more memory than a thousand, and one with functions in use stays", { skip: !globalThis.gc }, async () => {
  const { run, stats } = tidegate({ seed: 1 });
  await run(() => {});
  const make = (seed) => tidegate({ seed }).run(() => {});
  const before = await dropped(1_000, 100, make);
  const after = await dropped(20_000, 100, make);
  assert.ok(after - before < MOST, `${after - before} bytes more`);
  await run(() => {});
  assert.equal(stats().ok, 2);
});

test("pacing gates that are dropped need no memory", { skip: !globalThis.gc }, async () => {
  const make = () => assert.ok(pacing({ limit: 1, per: 1 }).take());
  const before = await dropped(20_000, 5_000, make);
  const after = await dropped(200_000, 5_000, make);
  assert.ok(after - before < 2 ** 20, `${after - before} bytes more`);
});

test("a thousand keys of a gate that shares its budgets take two megabytes of WebAssembly", { skip: !globalThis.gc }, async () => {
  const gate = shared({ shared: createClient(), keys: 2_000 });
  const external = async (from) => {
    // A call leaves at most a few reports and places.
    await Promise.all(Array.from({ length: 1_000 }, (_, i) => gate.run(() => {}, { key: `key ${from + i}` })));
    globalThis.gc();
    return process.memoryUsage().external;
  };
  const before = await external(0);
  const after = await external(1_000);
  assert.equal(gate.stats().alone, 2_000);
  await gate.close();
  assert.ok(after - before < 2 ** 21, `${after - before} bytes more`);
});

test("a million dropped permits need no more memory than those of an hour", () => {
  let now = 0;
  const gate = tidegate({ seed: 1, law: "none", now: () => (now += 1_000) });
  const round = (permits) => {
    for (let i = 0; i < permits; i++) assert.ok(gate.tryAcquire());
    return process.memoryUsage().arrayBuffers + process.memoryUsage().external;
  };
  const before = round(10_000);
  const after = round(1_000_000);
  assert.ok(after - before < 2 ** 20, `${after - before} bytes more`);
});

test("a hundred thousand abandoned calls leave no waiter, timer or listener", async () => {
  const gate = tidegate({ law: "fixed", requests: { limit: 1, per: 3_600_000 }, queue: 2_000 });
  await gate.run(() => {});
  const round = async () => {
    for (let i = 0; i < MANY / 1_000; i++) {
      const controller = new AbortController();
      const calls = Array.from({ length: 1_000 }, () => gate.run(() => {}, { signal: controller.signal }).catch(() => {}));
      controller.abort();
      await Promise.all(calls);
    }
    globalThis.gc?.();
    return process.memoryUsage().heapUsed;
  };
  const before = await round();
  assert.equal(gate.stats().waiting, 0);
  const after = await round();
  assert.ok(after - before < MOST, `${after - before} bytes more`);
  assert.equal(process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length <= 1, true);
});

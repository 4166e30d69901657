// The table of keys with a hundred thousand keys: bounded, and with exact counters.

import assert from "node:assert/strict";
import test from "node:test";
import { Closed, tidegate } from "tidegate";
import { tidegate as full } from "tidegate/full";
import { chance } from "./tools.mjs";

const KEYS = 100_000;
const ACCESSES = 300_000;
const ROOM = 1_000;

const memory = () => {
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
};

test("a table with room for every key keeps all of them, at the same cost, with exact counters", () => {
  const gate = tidegate({ seed: 1, keys: KEYS });
  const before = memory();
  for (let i = 0; i < KEYS; i++) gate.tryAcquire({ key: `key ${i}` }).settle();
  const after = memory();
  const { keys, admitted, ok, inFlight } = gate.stats();
  assert.deepEqual({ keys, admitted, ok, inFlight }, { keys: KEYS, admitted: KEYS, ok: KEYS, inFlight: 0 });
  const each = (after - before) / KEYS;
  assert.ok(each < 8_192, `${Math.round(each)} bytes a key`);
  // The key that was used first is still there.
  assert.equal(gate.stats("key 0").admitted, 1);
  gate.close();
});

test("a small table forgets the least recently used keys, like a plain list, within its memory", () => {
  const gate = tidegate({ seed: 1, keys: ROOM });
  const random = chance(7);
  // The keys that should be there, the least recently used first, with the number of calls since each was added.
  const there = new Map();
  let evicted = 0;
  let admitted = 0;
  let half;
  for (let i = 0; i < ACCESSES; i++) {
    // Most calls use few keys: the sixth power of a uniform number.
    const key = `key ${Math.floor((random(KEYS) / KEYS) ** 6 * KEYS)}`;
    const before = there.get(key) ?? 0;
    there.delete(key);
    if (!before && there.size === ROOM) {
      there.delete(there.keys().next().value);
      evicted++;
    }
    // A fresh controller admits its first two calls at once; later ones may have to wait.
    const permit = gate.tryAcquire({ key });
    if (before === 0) assert.ok(permit, `${key} came anew, and was not let go`);
    permit?.settle();
    if (permit) admitted++;
    there.set(key, before + (permit ? 1 : 0));
    if (i === Math.floor(ACCESSES / 2)) half = memory();
  }
  const end = memory();
  assert.equal(gate.stats().keys, ROOM);
  assert.ok(evicted > ACCESSES / 10, `${evicted} evicted`);
  // Exactly the expected keys are there, with the expected counts.
  for (const [key, calls] of there) {
    const { keys, admitted } = gate.stats(key);
    assert.deepEqual({ key, keys, admitted }, { key, keys: 1, admitted: calls });
  }
  assert.equal(gate.stats().admitted, admitted, "those that were forgotten are counted too");
  const grown = end - half;
  assert.ok(grown < 2 * 2 ** 20, `${grown} bytes more in the second half`);
  gate.close();
});

test("calls with more keys than places wait until a key is idle, and none is lost, also with several keys each", async () => {
  for (const [make, keys, keyOf] of [
    [tidegate, 10, (i) => `key ${i}`],
    [full, 3, (i) => [`key ${i}`, `key ${i + 1}`]],
  ]) {
    const gate = make({ keys, law: "none" });
    let most = 0;
    const work = async () => {
      most = Math.max(most, gate.stats().keys);
      await new Promise((wake) => setTimeout(wake, 2));
      return "served";
    };
    const calls = Array.from({ length: 300 }, (_, i) => gate.run(work, { key: keyOf(i) }));
    assert.deepEqual(new Set(await Promise.all(calls)), new Set(["served"]));
    assert.equal(most, keys);
  }
});

test("a call waits for a place for its key until its deadline, its signal or its gate ends the wait", async () => {
  const gate = tidegate({ keys: 1 });
  const permit = gate.tryAcquire({ key: "busy" });
  const ran = [];
  const run = (name, options) => gate.run(() => ran.push(name), { key: name, ...options });
  await assert.rejects(run("late", { deadline: 30 }), (error) => error.code === "KEYS_FULL");
  const controller = new AbortController();
  const aborted = run("aborted", { signal: controller.signal });
  controller.abort("enough");
  await assert.rejects(aborted, (reason) => reason === "enough");
  const waits = run("waits");
  await gate.run(() => ran.push("busy"), { key: "busy" });
  permit.settle();
  await waits;
  assert.deepEqual(ran, ["busy", "waits"]);
  const held = gate.tryAcquire({ key: "waits" });
  const closed = run("closed");
  gate.close();
  await assert.rejects(closed, Closed);
  held.settle();
});

test("calls that wait for a place for their key get it in order of arrival", async () => {
  const gate = tidegate({ keys: 1 });
  const permit = gate.tryAcquire({ key: "busy" });
  const ran = [];
  const run = (name) => gate.run(() => ran.push(name), { key: name });
  const calls = [run("first"), run("second"), run("third")];
  await new Promise((wake) => setTimeout(wake, 100));
  permit.settle();
  calls.push(run("last"));
  await Promise.all(calls);
  assert.deepEqual(ran, ["first", "second", "third", "last"]);
});

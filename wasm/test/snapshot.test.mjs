// What a gate has learned, stored and continued.

import assert from "node:assert/strict";
import test from "node:test";
import { Closed, tidegate, TidegateError } from "tidegate/full";

/** One call at a time, `ms` apart. */
const every = (ms, more) => tidegate({ law: "fixed", requests: { limit: 1, per: ms }, ...more });
const nothing = () => {};

test("what was learned is stored in a snapshot and restored", async () => {
  const gate = every(3_600_000);
  await gate.run(nothing, { key: "a" });
  const snapshot = structuredClone(JSON.parse(JSON.stringify(gate.snapshot())));
  const again = every(3_600_000);
  again.restore(snapshot);
  assert.equal(again.tryAcquire({ key: "a" }), null, "its hour is not over");
  assert.ok(again.tryAcquire({ key: "b" }));
  const other = tidegate();
  assert.throws(() => other.restore(snapshot), (error) => error instanceof TidegateError && error.code === "SNAPSHOT");
});

test("a snapshot taken during slow start continues with a few calls", async () => {
  const gate = tidegate();
  gate.tryAcquire().settle();
  const again = tidegate();
  again.restore(gate.snapshot());
  const permits = Array.from({ length: 20 }, () => again.tryAcquire());
  assert.equal(permits.filter((permit) => permit).length, 10);
});

test("a snapshot is restored only into an open gate with room", () => {
  const from = every(3_600_000);
  from.tryAcquire({ key: "a" }).settle();
  const snapshot = from.snapshot();
  const full = every(3_600_000, { keys: 1 });
  const permit = full.tryAcquire({ key: "b" });
  assert.throws(() => full.restore(snapshot), (error) => error.code === "KEYS_FULL");
  permit.settle();
  full.restore(snapshot);
  assert.equal(full.tryAcquire({ key: "a" }), null);
  full.close();
  assert.throws(() => full.restore(snapshot), Closed);
});

test("a snapshot survives JSON with any keys", () => {
  const gate = every(3_600_000);
  for (const key of ["__proto__", "a"]) gate.tryAcquire({ key });
  const again = every(3_600_000);
  again.restore(JSON.parse(JSON.stringify(gate.snapshot())));
  assert.deepEqual(["__proto__", "a"].map((key) => again.tryAcquire({ key })), [null, null]);
  for (const wrong of [null, undefined, 7, {}, { at: 0, keys: [["a", "no base 64!"]] }, { at: 0, keys: { a: new Uint8Array(5) } }, { at: "x", keys: [] }]) {
    assert.throws(() => again.restore(wrong), { code: "SNAPSHOT" });
  }
});

// A member of a shared budget: what it asks for, when it stops asking, and what it does if its clock, its
// request or the answer fails.

import assert from "node:assert/strict";
import test from "node:test";
import { Desk, load, made, World } from "./shared-world.mjs";

const SLOW = { requests: { limit: 1, per: 5_000 } };

test("a member works for hours with a clock that only advances with timers", async (t) => {
  for (const off of [0, 99_999_999]) {
    const world = new World(t, 1_795_000_000_000 + off);
    const gate = world.gate(world.desk());
    let calls = 0;
    for (let i = 0; i < 2; i++) {
      (async () => {
        for (;;) {
          await gate.run(() => world.sleep(20));
          calls++;
          await world.sleep(1_000);
        }
      })();
    }
    await world.pass(4_500_000);
    assert.ok(calls > 8_000, `${calls} calls`);
  }
});

test("a call that does not wait requests one lease only", async (t) => {
  const world = new World(t);
  const desk = world.desk();
  const gate = world.gate(desk);
  assert.equal(gate.tryAcquire(), null);
  await world.pass(12_000);
  assert.ok(gate.asked.length < 8, `${gate.asked.length} requests`);
  assert.deepEqual([gate.asked.at(-1).leaving, gate.stats().inHand, desk.stats().members], [true, 0, 0]);
});

test("no lease is requested for an abandoned call", async (t) => {
  const world = new World(t);
  const desk = world.desk(SLOW);
  const gate = world.gate(desk);
  await world.after(gate.run(() => 1));
  const giveUp = new AbortController();
  const call = gate.run(() => 1, { signal: giveUp.signal });
  call.catch(() => {});
  await world.pass(200);
  giveUp.abort(new Error("given up"));
  await assert.rejects(call);
  await world.pass(30_000);
  assert.ok(gate.asked.length < 8, `${gate.asked.length} requests`);
  assert.deepEqual([gate.asked.at(-1).leaving, desk.stats().members, desk.stats().abandoned <= 2], [true, 0, true]);
});

test("no lease is requested for a waiting call whose request has ended", async (t) => {
  const world = new World(t);
  const desk = world.desk({ requests: { limit: 2, per: 1_000 } });
  const gate = world.gate(desk);
  await world.after(gate.run(() => 1));
  await world.pass(3_000);
  const asked = gate.asked.length;
  world.dies = true;
  void gate.run(() => 1);
  world.dies = false;
  await world.pass(15_000);
  assert.ok(gate.asked.length - asked < 8, `${gate.asked.length - asked} requests`);
  assert.deepEqual([gate.asked.at(-1).leaving, gate.stats().waiting, desk.stats().members], [true, 0, 0]);
});

test("a closed gate sends its last request, returns its leases, and keeps no request alive", async (t) => {
  const world = new World(t);
  const desk = world.desk();
  const gate = world.gate(desk);
  for (let call = 0; call < 30; call++) {
    await world.after(gate.run(() => 1));
    await world.pass(50);
  }
  assert.ok(gate.stats().inHand > 0);
  gate.close();
  assert.equal(gate.asked.at(-1).leaving, true);
  await world.pass(100);
  assert.deepEqual([desk.stats().members, desk.stats().inFlight], [0, 0]);
  await world.pass(5_000);
  assert.ok(world.kept.length > 2 && world.kept.every(({ over }) => over), "something is still waited for");
});

test("a gate that is closed during a request still leaves, and ignores later answers", async (t) => {
  const world = new World(t);
  const desk = world.desk();
  const gate = world.gate(desk);
  const call = gate.run(() => 1);
  call.catch(() => {});
  await world.pass(15);
  gate.close();
  await world.pass(5_000);
  await assert.rejects(call, { code: "CLOSED" });
  assert.deepEqual([gate.asked.map(({ leaving }) => leaving), desk.stats().members], [[false, true], 0]);
  assert.ok(world.kept.every(({ over }) => over), "something is still waited for");
});

test("keys without leases are forgotten first, the least recently used before others", async (t) => {
  const world = new World(t);
  const desks = {};
  const gate = world.gate((key) => (desks[key] ??= world.desk()), { keys: 3 });
  const call = (key) => world.after(gate.run(() => world.sleep(20), { key }));
  /** Calls until each of these keys has leases. The last key is called last. */
  const lease = async (...keys) => {
    for (let turn = 0; turn < 30 || !keys.every((key) => gate.stats(key).inHand > 0); turn++) {
      assert.ok(turn < 1_000, `${keys} never have leases in hand all at once`);
      for (const key of keys) await call(key);
    }
  };
  await lease("leases");
  await call("first");
  await call("second");
  const inHand = () => ["leases", "first", "second"].map((key) => gate.stats(key).inHand > 0);
  assert.deepEqual(inHand(), [true, false, false]);
  await call("another");
  const left = () => gate.asked.filter(({ leaving }) => leaving).map(({ key }) => key);
  assert.deepEqual(left(), ["first"]);
  assert.deepEqual(inHand(), [true, false, false]);
  // If all have leases, the least recently used is removed.
  await lease("second", "another", "leases");
  await call("one more");
  assert.deepEqual(left(), ["first", "second"]);
});

test("each missing answer is reported once, whether the request fails or hangs", async (t) => {
  for (const how of ["fails", "hangs", "fails late", "is nothing"]) {
    const world = new World(t);
    const carry = async () => {
      if (how === "is nothing") return undefined;
      if (how === "hangs") return new Promise(() => {});
      if (how === "fails late") await world.sleep(15_000);
      throw new Error("gone");
    };
    const gate = world.gate(undefined, { carry });
    const missed = [];
    gate.on("missed", ({ error }) => missed.push(String(error)));
    await world.after(gate.run(() => 1));
    await world.pass(40_000);
    assert.ok(missed.length > 2, `${how}: ${missed.length}`);
    assert.equal(missed.length, gate.stats().missed, how);
    assert.match(missed[0], { fails: /gone/, hangs: /no answer arrived in time/, "fails late": /no answer arrived in time/, "is nothing": /undefined/ }[how]);
    // The cause of an earlier one, once it is known.
    if (how === "fails late") assert.match(missed.at(-1), /gone/);
    assert.equal(gate.stats().alone, 1, how);
  }
});

test("a clock that goes back by a minute delays no call", async (t) => {
  for (const idle of [0, 3_000]) {
    const world = new World(t);
    let off = 0;
    const gate = world.gate(world.desk(), { now: () => world.now() + 10_000_000 + off });
    for (let i = 0; i < 5; i++) await world.after(gate.run(() => 1));
    await world.pass(idle);
    off = -60_000;
    await world.after(gate.run(() => 1), 1_000);
  }
});

test("two members with the same seed are distinguished", async (t) => {
  const world = new World(t);
  const desk = world.desk();
  for (const gate of [1, 2].map(() => world.gate(desk, { seed: 1 }))) await world.after(gate.run(() => 1));
  assert.equal(desk.stats().members, 2);
});

test("if the request that carries messages ends, the next call takes over", async (t) => {
  const world = new World(t);
  const gate = world.gate(world.desk());
  await world.after(gate.run(() => 1));
  // It ends before its timer fires, or while it waits for an answer.
  for (const after of [5, 100, 450, 900]) {
    void gate.run(() => world.sleep(1)).catch(() => {});
    await world.pass(after);
    world.kill();
    await world.pass(2_000);
    await world.after(gate.run(() => 1), 4_000);
    await world.pass(6_000);
    assert.equal(gate.asked.at(-1).leaving, true, `nobody has said good-bye for one that died after ${after} ms`);
  }
});

test("no request carries messages for others for longer than it is kept alive", async (t) => {
  const world = new World(t);
  const gate = world.gate(world.desk());
  for (let call = 0; call < 1_500; call++) {
    await world.request(() => world.after(gate.run(() => 1)));
    await world.pass(40);
  }
  assert.ok(Math.max(...world.ages) > 5_000, "each carries for itself alone");
  assert.ok(Math.max(...world.ages) < 10_500, `one has carried for ${Math.max(...world.ages)} ms`);
});

/** What a new member with so many waiting calls is granted. */
function grant(world, desk, waiting) {
  const core = made(load());
  core.row().fill(NaN).set([1, 1, 1_000, NaN, 1]);
  const member = core.open(0, 0, world.time);
  core.poll(member, -1, world.time, NaN, 1, 0);
  return new DataView(desk.answer(core.room().slice(0, core.request(member, waiting, world.time))).buffer);
}

/** When the leases of a new member with 60 waiting calls are due. */
function granted(world, desk) {
  const view = grant(world, desk, 60);
  return Array.from({ length: view.getUint8(40) }, (_, i) => world.time + Number(view.getBigInt64(49 + 16 * i, true)) / 1e6);
}

test("with an unusable record nothing is granted before earlier leases are used", (t) => {
  const world = new World(t);
  const policy = { requests: { limit: 50, per: 1_000, burst: 50 } };
  const first = world.desk(policy);
  const before = granted(world, first);
  const record = first.snapshot();
  world.time += 100;
  for (const [what, other, record_] of [["cut", policy, record.subarray(1)], ["of another law", { ...policy, law: "adaptive" }, record], ["long", policy, new Uint8Array(9_000)]]) {
    const next = world.desk(other, { from: { record: record_, away: 100 } });
    assert.equal(next.resumed, false);
    const after = granted(world, next);
    assert.ok(before.length > 50 && Math.min(...after, Infinity) > Math.max(...before), `${what}: ${before.at(-1)} and then ${after}`);
  }
  const again = world.desk(policy, { from: { record, away: 100 } });
  assert.equal(again.resumed, true);
});

test("a thousand budgets take 8 kB each, and one with many members has room for them", (t) => {
  const world = new World(t);
  const core = made(load());
  const policy = { law: "fixed", requests: { limit: 5_000, per: 1_000 } };
  const open = () => Array.from({ length: 1_000 }, () => new Desk(core, policy, { now: world.now }));
  const bytes = () => core.memory.buffer.byteLength;
  const before = bytes();
  const desks = open();
  const small = bytes();
  assert.ok(small - before < 1_000 * 9_000, `${small - before} bytes`);
  const [one, other] = desks;
  let leases = 0;
  for (let member = 0; member < 100; member++) leases += granted(world, one).length;
  assert.equal(one.stats().members, 100);
  assert.ok(leases > 1_000 && leases === one.stats().inFlight, `${leases} leases`);
  one.follow({ ...policy, heartbeat: 4_000 });
  assert.deepEqual([one.stats().members, one.stats().inFlight, other.stats().members], [100, leases, 0]);
  const large = bytes();
  assert.ok(large - small < 600_000, `${large - small} bytes`);
  for (const desk of desks) desk.close();
  open();
  assert.equal(bytes(), large, "closed budgets leave their memory to others");
});

test("a policy without a heartbeat has the default one", (t) => {
  const world = new World(t);
  const heartbeat = (desk) => Number(grant(world, desk, 1).getBigUint64(6, true)) / 1e6;
  const desk = world.desk({ heartbeat: 4_000 });
  assert.equal(heartbeat(desk), 4_000);
  desk.follow({ law: "fixed", requests: { limit: 50, per: 1_000 } });
  assert.equal(heartbeat(desk), 500);
});

test("an invalid rate for a process alone is reported", (t) => {
  const world = new World(t);
  const alone = (alone) => () => world.gate(world.desk(), { alone });
  assert.throws(alone({ limit: 1.5, per: 1_000 }), { name: "PolicyError", message: /^alone\.limit is 1\.5; it must be a whole number/ });
  assert.throws(alone({ limit: 1 }), /^PolicyError: alone\.per is NaN or missing; it must be a number from/);
  assert.throws(alone({ limit: 1, per: 1e13 }), /^PolicyError: alone\.per is/);
  assert.ok(new Desk(made(load()), {}).stats());
});

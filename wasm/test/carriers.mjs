// What gates that share a budget do in the same way, whatever carries their messages.

import assert from "node:assert/strict";
import test from "node:test";
import { PolicyError } from "tidegate/full";
import { api } from "./live.mjs";

const FIFTY = { law: "fixed", requests: { limit: 50, per: 1_000 } };

/**
 * Tests a carrier. `open` returns a function that makes gates which share, and one that tells whether nobody has the
 * seat. `apart` are options of a gate that does not share with others, and `make` makes one at once.
 */
export function carrier(open, apart, make) {
  test("a gate that closes returns its leases and frees its seat", async (t) => {
    const { gate, isFree } = await open(t);
    const [first, second] = [await gate(FIFTY), await gate(FIFTY)];
    for (let i = 0; i < 10; i++) await Promise.all([first.run(() => i), second.run(() => i)]);
    const [holder, other] = first.budget() ? [first, second] : [second, first];
    while (holder.budget().members < 2) await holder.run(() => 0);
    assert.deepEqual([other.budget(), first.stats().alone + second.stats().alone], [undefined, 0]);
    await other.close();
    // Its goodbye has been sent; otherwise its share would be kept for ten seconds.
    for (const end = performance.now() + 5_000; holder.budget().members > 1 && performance.now() < end; ) await holder.run(() => 0);
    assert.equal(holder.budget().members, 1);
    await holder.close();
    assert.ok(await isFree(), "somebody has the seat");
  });

  test("what was learned remains after its process ends", async (t) => {
    const [{ gate }, { url }] = await Promise.all([open(t), api(t, "--limit", "1000")]);
    const learn = async (calls) => {
      const one = await gate({ law: "aimd" });
      for (let i = 0; i < calls; i++) await one.run(() => fetch(url));
      const { interval } = one.budget();
      await one.close();
      return interval;
    };
    const [interval, learnt] = [await learn(40), await learn(1)];
    assert.ok(interval > 0 && learnt < interval * 1.5, `${interval} ms between two calls, and then ${learnt}`);
  });

  test("a key may contain any characters, and gates with other names have their own budgets", async (t) => {
    const { gate } = await open(t);
    const odd = '\ufeffa "key" | / {with}\n all: *ü and half a \ud800';
    const [mine, other] = [await gate(apart), await gate()];
    await Promise.all([mine, other].map((gate) => gate.run(() => 1, { key: odd })));
    assert.ok(mine.budget(odd) && other.budget(odd) && !mine.budget() && !mine.budget(odd.slice(1)));
    const member = await gate();
    while (other.budget(odd).members < 2) await Promise.all([member, other].map((gate) => gate.run(() => 1, { key: odd })));
  });

  test("the policy of the program that joined last applies, and the others are told once", async (t) => {
    const { gate } = await open(t);
    await deploy(gate, [100, 10, 100].map((limit) => ({ law: "fixed", requests: { limit, per: 1_000 } })));
  });

  test("an invalid policy is rejected at once", () => {
    assert.throws(() => make({ requests: { limit: 0, per: 1 } }), /^PolicyError: requests.limit is 0; it must be a whole number from 1 to/);
    assert.throws(() => make({ law: "vegas" }), PolicyError);
    assert.throws(() => make({ law: "aimd", tolerance: 0.1 }), /^PolicyError: the law "aimd" has no tolerance/);
  });
}

/**
 * Starts a gate with each policy in turn, all with more calls than the limit allows. The latest one takes the budget and
 * keeps it, and each earlier one with another policy is told once.
 */
async function deploy(gate, policies) {
  const gates = [];
  const told = policies.map(() => []);
  let ended = false;
  const calls = [];
  try {
    for (const [i, policy] of policies.entries()) {
      const one = await gate(policy);
      gates.push(one);
      one.on("missed", ({ error }) => error?.code === "POLICY" && told[i].push(error.message));
      for (let caller = 0; caller < 10; caller++) {
        calls.push((async () => {
          while (!ended) await one.run(() => 1, { key: "api" });
        })());
      }
      const start = performance.now();
      while (!one.budget("api")) {
        // It takes about a second, and the time of a test is not measured: this only ends one that never succeeds.
        assert.ok(performance.now() - start < 60_000, `policy ${i} does not apply: ${JSON.stringify(told)}`);
        await one.run(() => 1, { key: "api" });
      }
      // All have heard of it, and nobody takes it back.
      const { answered } = one.budget("api");
      while (one.budget("api") && one.budget("api").answered < answered + 8 * gates.length) await one.run(() => 1, { key: "api" });
      assert.ok(one.budget("api"), `policy ${i} was replaced by an earlier one`);
      assert.equal(one.budget("api").interval, policy.requests.per / policy.requests.limit);
    }
    const is = (policy) => JSON.stringify(policy);
    for (const [i, messages] of told.entries()) {
      // Each other policy that came later, once.
      const others = new Set(policies.slice(i + 1).map(is).filter((other) => other !== is(policies[i])));
      assert.equal(messages.length, others.size, messages.join("\n"));
      for (const other of others) assert.ok(messages.some((message) => message.includes(is(policies[i])) && message.includes(other)), messages.join("\n"));
    }
  } finally {
    ended = true;
    await Promise.allSettled(calls);
  }
}

// Programs that join a shared budget with another policy than those before, as in a deployment.

import assert from "node:assert/strict";

/**
 * Starts a gate with each policy in turn, all with more calls than the limit allows. The latest one takes the budget and
 * keeps it, and each earlier one with another policy is told once.
 */
export async function deploy(gate, policies) {
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

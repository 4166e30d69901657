// The servers limit as declared, and the npm package gets every call through a server with hints
// and one without. These tests only count; times are measured by `cargo xtask bench providers`.

import assert from "node:assert/strict";
import test, { after } from "node:test";
import { PROVIDERS } from "./providers.mjs";
import { ideal } from "./rules.mjs";
import { run, stop } from "./run.mjs";

after(stop);

const row = (name, client, load = "300 at once") => run({ provider: PROVIDERS.find((it) => it.name === name), load, client, fast: true });

test("the ideal is what the rule allows", () => {
  const near = (rule, left, calls, ms) => assert.ok(Math.abs(ideal(rule, left, calls) - ms) < 1, `${JSON.stringify(rule)}: ${ideal(rule, left, calls)}`);
  near({ kind: "bucket", size: 60, rate: 10 }, 1, 300, 24_000);
  near({ kind: "bucket", size: 2_000, rate: 100, cost: 20 }, 0, 1, 200);
  near({ kind: "window", limit: 100, period: 60_000 }, 1, 300, 120_000);
  near({ kind: "window", limit: 100, period: 60_000 }, 0, 1, 36_000);
  near({ kind: "sliding", limit: 60, period: 6_000 }, 1, 300, 24_000);
  near({ kind: "concurrency", limit: 5, lasts: 100 }, 1, 300, 5_900);
});

for (const name of ["OpenAI, requests", "Stripe", "concurrency limit"]) {
  test(`${name}: calls above the limit are throttled`, async () => {
    const { calls, offered, throttled, lost, twice } = await row(name, "plain fetch");
    assert.equal(offered, calls);
    assert.ok(throttled > 0 && lost === throttled && twice === 0, `${throttled} throttled, ${lost} lost, ${twice} twice`);
  });
}

for (const name of ["OpenAI, requests", "Stripe"]) {
  for (const load of ["300 at once", "300 at once, three processes"]) {
    test(`${name}, ${load}: the package loses no call and sends none twice`, async () => {
      const { calls, offered, throttled, lost, twice } = await row(name, "tidegate", load);
      assert.deepEqual({ lost, twice, offered }, { lost: 0, twice: 0, offered: calls + throttled });
    });
  }
}

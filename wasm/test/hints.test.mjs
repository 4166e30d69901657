// Two hundred calls at once against a real server, for each family of hints: none is lost, and few are throttled. How
// few is partly chance, so the median of three parallel runs is compared with the bar.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { tidegate } from "tidegate";
import { api, measured } from "./live.mjs";

const CALLS = 200;

/**
 * GitHub's shortest time is one second, and `adaptive` takes it for any time of up to a second.
 * With a longer period, it is never the only hint, regardless of when the run begins.
 */
const PERIOD = ["--policy", "window", "--limit", "120", "--period", "2s"];

/**
 * The largest share of rejections that counts as few. Without a report of the remaining calls, a burst finds the limit
 * by exceeding it: about twenty calls are rejected before the rate is known, however many there are. That is 12 % of
 * 300 calls on a bucket of 20, and more of 200 on a bucket of 10.
 */
const FEW_UNHINTED = 0.2;
/** With the remaining calls reported, only the first round trip is rejected. */
const FEW_HINTED = 0.08;

/** A family of headers, other options of the server, and the largest accepted share of throttled calls. */
const FAMILIES = [
  { hints: "none", few: FEW_UNHINTED },
  { hints: "retry-after", few: FEW_UNHINTED },
  { hints: "retry-date", few: FEW_UNHINTED },
  { hints: "aws", few: FEW_UNHINTED },
  { hints: "remaining", few: FEW_HINTED },
  { hints: "quota", few: FEW_UNHINTED },
  { hints: "ietf", few: FEW_HINTED },
  { hints: "ratelimit", few: FEW_HINTED },
  { hints: "github", options: PERIOD, few: FEW_HINTED },
  { hints: "openai", few: FEW_HINTED },
  { hints: "discord", few: FEW_HINTED },
];

describe("each family of hints", () => {
  for (const { hints, options = [], few } of FAMILIES) {
    test(`two hundred calls are served if the server reports ${hints}`, async (t) => {
      const run = () => Promise.all(Array.from({ length: 3 }, async () => {
        const { url, counts } = await api(t, "--hints", hints, ...options);
        const gate = tidegate();
        const answers = await Promise.all(Array.from({ length: CALLS }, () => gate.fetch(url)));
        const bodies = await Promise.all(answers.map((answer) => answer.text()));
        const { offered, served, throttled } = await counts();
        assert.equal(bodies.filter((body) => body === "served\n").length, CALLS);
        assert.equal(served, CALLS);
        assert.equal(offered, gate.stats().admitted);
        return throttled / offered;
      }));
      assert.ok(await measured(t, run, (shares) => {
        shares.sort((a, b) => a - b);
        t.diagnostic(`${hints}: ${shares.map((share) => `${(100 * share).toFixed(1)} %`).join(", ")} throttled`);
        return shares[1] <= few;
      }), "too many calls were throttled");
    });
  }
});

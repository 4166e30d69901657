// The examples: common clients through a gate, each against the real server.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import fs from "node:fs";
import test from "node:test";
import { promisify } from "node:util";
import { api } from "./live.mjs";

const run = promisify(execFile);

for (const file of fs.readdirSync(new URL("examples", import.meta.url))) {
  test(`${file} is served forty times, including retries`, async (t) => {
    // The burst is so small that some are throttled until the gate knows the limit.
    const { url, counts } = await api(t, "--hints", "retry-after", "--limit", "30", "--burst", "3");
    const { stdout } = await run(process.execPath, [`examples/${file}`, url], { cwd: import.meta.dirname });
    const { offered, served, throttled } = await counts();
    t.diagnostic(`${throttled} of ${offered} were throttled`);
    assert.deepEqual(JSON.parse(stdout), { served: 40, admitted: offered });
    assert.equal(served, 40);
    assert.ok(throttled > 0, "a gate that was never throttled has retried nothing");
  });
}

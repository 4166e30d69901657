// The packed package, installed, in each runtime: the same program against the real server.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import test from "node:test";
import { promisify } from "node:util";
import { check, streaming } from "./aborts.mjs";
import { api, measured } from "./live.mjs";
import { RUNTIMES } from "./runtimes.mjs";

const run = promisify(execFile);
const here = import.meta.dirname;

for (const [name, [program, ...args]] of Object.entries(RUNTIMES)) {
  test(`${name} serves two hundred calls, and few are throttled`, async (t) => {
    assert.ok(existsSync(program), `${program} is missing`);
    const calls = async () => {
      const { url, counts } = await api(t, "--hints", "ietf");
      const { stdout } = await run(program, [...args, "throttle.mjs", url], { cwd: here });
      const { served, admitted, throttled } = JSON.parse(stdout);
      const { offered } = await counts();
      t.diagnostic(`${name}: ${((100 * throttled) / admitted).toFixed(1)} % throttled`);
      assert.deepEqual([served, admitted], [200, offered]);
      return throttled / admitted;
    };
    // As in hints.test.mjs, with room for chance in a single run.
    assert.ok(await measured(t, calls, (share) => share <= 0.1), "too many calls were throttled");
  });
}

for (const [name, [program, ...args]] of Object.entries(RUNTIMES)) {
  test(`an abort after the headers closes the connection in ${name}`, async (t) => {
    const { url, seen } = await streaming(t);
    const { stdout } = await run(program, [...args, "abort.mjs", url], { cwd: here });
    await check(JSON.parse(stdout), seen, url);
  });
}

const USE = "const gate = tidegate(); gate.run(() => 42).then((answer) => console.log(answer, gate.tryAcquire() !== null));";
const ENTRIES = ["tidegate", "tidegate/lite", "tidegate/js", "tidegate/full"];

for (const entry of ENTRIES) {
  for (const [name, [program]] of Object.entries(RUNTIMES)) {
    test(`${entry} runs in ${name}, required and imported`, async () => {
      const imported = `import { tidegate } from "${entry}"; ${USE}`;
      const required = `const { tidegate } = require("${entry}"); ${USE}`;
      const sources = name === "Deno" ? [["--ext=js", imported]] : [["--input-type=module", imported], ["--input-type=commonjs", required]];
      for (const [kind, source] of sources) {
        const call = name === "Deno" ? ["eval", "--no-config", "--node-modules-dir=manual", kind, source] : name === "Bun" ? ["-e", source] : [kind, "-e", source];
        const { stdout } = await run(program, call, { cwd: here });
        assert.equal(stdout.trim(), "42 true");
      }
    });
  }
}

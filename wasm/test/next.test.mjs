// A Next.js app that is built and started: its routes call the real server through a gate, in both runtimes.

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import path from "node:path";
import test from "node:test";
import { promisify } from "node:util";
import { api } from "./live.mjs";
import { tool } from "./tools.mjs";

const app = path.join(import.meta.dirname, "next");
const next = tool("next/dist/bin/next");
const env = { ...process.env, NEXT_TELEMETRY_DISABLED: "1" };

/** Starts the built app on a free port of the loopback interface. */
async function start(t) {
  const child = spawn(process.execPath, [next, "start", "--hostname", "127.0.0.1", "--port", "0"], { cwd: app, env, stdio: ["ignore", "pipe", "inherit"] });
  t.after(() => child.kill("SIGKILL"));
  return new Promise((done, fail) => {
    let said = "";
    child.stdout.on("data", (piece) => {
      said += piece;
      const [origin] = /http:\/\/127\.0\.0\.1:\d+/.exec(said) ?? [];
      if (origin && /ready/i.test(said)) done(origin);
    });
    child.once("exit", (code) => fail(new Error(`the app ended with ${code}: ${said}`)));
  });
}

test("a Next.js app is served in its Node and its edge runtime", async (t) => {
  await promisify(execFile)(process.execPath, [next, "build"], { cwd: app, env });
  const origin = await start(t);
  for (const runtime of ["node", "edge"]) {
    const { url, counts } = await api(t, "--hints", "retry-after", "--limit", "30", "--burst", "3");
    const response = await fetch(`${origin}/${runtime}?url=${encodeURIComponent(url)}`);
    const { offered, throttled } = await counts();
    t.diagnostic(`${runtime}: ${throttled} of ${offered} were throttled`);
    assert.deepEqual(await response.json(), { served: 40, admitted: offered });
    // Simultaneous requests share a gate. Each call must see the store of the request that made it.
    const tenants = Array.from({ length: 20 }, (_, i) => `tenant ${i}`);
    const answers = await Promise.all(tenants.map((tenant) => fetch(`${origin}/${runtime}`, { headers: { "x-tenant": tenant } })));
    assert.deepEqual(await Promise.all(answers.map((answer) => answer.text())), tenants);
  }
});

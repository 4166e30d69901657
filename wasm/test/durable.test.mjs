// A budget in a Durable Object, up close: what it is told, what it keeps, and what users get wrong.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import fs from "node:fs";
import test from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { Miniflare } from "miniflare";
import { bundle } from "./fleet.mjs";
import { serve } from "./http.mjs";
import { api } from "./live.mjs";

const exec = promisify(execFile);
const compatibilityDate = "2026-04-01";

const WORKER = `
  import { env } from "cloudflare:workers";
  import { tidegate, TidegateObject } from "tidegate/durable";
  let silent = false;
  export class Budget extends TidegateObject {
    async lease(...request) {
      if (silent) await scheduler.wait(600_000);
      return super.lease(...request);
    }
    policy(key) { return { law: "fixed", requests: { limit: key.startsWith("slow") ? 1 : 100, per: 1_000 } }; }
    die() { this.ctx.abort("evicted"); }
    kept() { return this.ctx.storage.kv.get("tidegate:budget")?.at; }
    spoil() { this.ctx.storage.kv.put("tidegate:policy", { law: "nobody's" }); }
  }
  const gates = {};
  const gate = (name) => (gates[name] ??= tidegate({ shared: env.TIDEGATE, attempts: 2 }));
  const missed = [];
  export default { async fetch(request) {
    const { pathname, searchParams: say } = new URL(request.url);
    const budget = env.TIDEGATE.getByName(say.get("key") ?? "api");
    const one = gate(say.get("isolate"));
    one.on("missed", ({ error }) => missed.push(String(error)));
    try {
      switch (pathname) {
        case "/fetch": return await one.fetch(say.get("url"), {}, { key: "api", retry: say.has("retry") });
        case "/run": return Response.json(await one.run(() => "ran", { key: "api", ...JSON.parse(say.get("options") ?? "{}") }));
        case "/stats": return Response.json({ here: one.stats(), budget: await budget.stats().catch(() => null), missed });
        case "/kept": return Response.json(await budget.kept() ?? null);
        case "/spoil": return Response.json(await budget.spoil() ?? null);
        case "/policy": return Response.json(await budget.setPolicy(say.has("law") ? { law: say.get("law") } : say.has("limit") ? { law: "fixed", requests: { limit: +say.get("limit"), per: 1_000 } } : undefined) ?? null);
        case "/die": return Response.json(await budget.die().catch(() => "dead"));
        case "/silence": return Response.json((silent = true));
        case "/unbound": return Response.json(tidegate({ shared: env.ELSE }));
        case "/misplaced": return Response.json(tidegate({ shared: env.TIDEGATE, requests: { limit: 5, per: 1_000 } }));
      }
    } catch (error) {
      return Response.json({ name: error.name, code: error.code, message: error.message });
    }
  } };`;

/** A worker with some isolates' worth of gates, and its object with this storage. */
async function worker(t, useSQLite = true) {
  const miniflare = new Miniflare({
    modules: await bundle(WORKER), compatibilityDate, host: "127.0.0.1", durableObjects: { TIDEGATE: { className: "Budget", useSQLite } },
  });
  t.after(() => miniflare.dispose());
  const get = (path, say = {}) => miniflare.dispatchFetch(`http://worker/${path}?${new URLSearchParams(say)}`);
  return { get, ask: async (path, say) => (await get(path, say)).json() };
}

test("each key has an object of its own, which the class gives its policy", async (t) => {
  const { ask } = await worker(t);
  assert.equal((await ask("stats")).budget.interval, 10);
  assert.equal((await ask("stats", { key: "slow" })).budget.interval, 1_000);
});

test("a policy that the object is told holds for all, and after it was evicted", async (t) => {
  const { ask } = await worker(t);
  assert.equal(await ask("run"), "ran");
  await ask("policy", { limit: "20" });
  assert.equal((await ask("stats")).budget.interval, 50);
  assert.equal(await ask("die"), "dead");
  assert.equal((await ask("stats")).budget.interval, 50);
  await ask("policy");
  assert.equal((await ask("stats")).budget.interval, 10);
  assert.match((await ask("policy", { limit: "0" })).message, /requests.limit is 0; it is a whole number from 1/);
});

test("an object whose stored policy cannot be is repaired by another", async (t) => {
  const { ask } = await worker(t);
  await ask("spoil");
  await ask("die");
  assert.equal((await ask("stats")).budget, null);
  await ask("policy", { limit: "20" });
  assert.equal((await ask("stats")).budget.interval, 50);
  await ask("die");
  assert.equal((await ask("stats")).budget.interval, 50);
});

test("a policy with another law is on record at once", async (t) => {
  const { ask } = await worker(t);
  assert.equal(await ask("run"), "ran");
  const before = await ask("kept");
  await sleep(20);
  await ask("policy", { law: "adaptive" });
  assert.ok((await ask("kept")) > before);
});

test("what has been learnt is written by the alarm, and is known after an eviction", async (t) => {
  const { ask, get } = await worker(t);
  await ask("policy", { law: "adaptive" });
  const first = await ask("kept");
  const fresh = (await ask("stats")).budget.interval;
  const { url } = await serve(t, () => ({ status: 200, headers: { ratelimit: '"a";r=1;t=100' } }));
  for (let call = 0; call < 12; call++) assert.equal((await get("fetch", { url })).status, 200);
  // Nobody calls any more.
  for (let asked = 0; (await ask("kept")) === first; asked++) assert.ok(asked < 300 && (await sleep(50), true), "nothing was written");
  const learnt = (await ask("stats")).budget.interval;
  assert.ok(Math.abs(learnt / fresh - 1) > 0.2, `nothing was learnt: ${fresh} and then ${learnt}`);
  await ask("die");
  const { interval } = (await ask("stats")).budget;
  assert.ok(Math.abs(interval / learnt - 1) < 0.1, `${learnt}, and ${interval} after the eviction`);
});

test("an object learns its key from the gate, however long that is", async (t) => {
  const { ask } = await worker(t);
  const key = "slow".padEnd(1_500, "!");
  assert.equal((await ask("stats", { key })).budget.interval, 10, "nobody has told it");
  assert.equal(await ask("run", { options: JSON.stringify({ key }) }), "ran");
  assert.equal((await ask("stats", { key })).budget.interval, 1_000);
  await ask("die", { key });
  assert.equal((await ask("stats", { key })).budget.interval, 1_000);
});

test("what one isolate hears of the server holds the others back too", async (t) => {
  const { ask, get } = await worker(t);
  const { url, seen } = await serve(t, (turn) => (turn === 1 ? { status: 429, headers: { "retry-after": "2" } } : { status: 200 }));
  assert.equal((await get("fetch", { isolate: "a", url })).status, 429);
  // The refusal is told within a beat.
  for (let asked = 0; !(await ask("stats")).budget.throttled; asked++) assert.ok(asked < 100 && (await sleep(50), true), "the refusal was never told");
  assert.equal((await get("fetch", { isolate: "b", url })).status, 200);
  const [first, second] = seen;
  assert.ok(second.at - first.at > 1_500, `the other came ${second.at - first.at} ms after the refusal, which asked for 2000`);
});

test("an isolate says good-bye when it has no more to do", async (t) => {
  const { ask } = await worker(t);
  assert.equal(await ask("run"), "ran");
  assert.equal((await ask("stats")).budget.isolates, 1);
  for (let asked = 0; (await ask("stats")).budget.isolates; asked++) assert.ok(asked < 200 && (await sleep(50), true), "it never said good-bye");
});

test("a call that cannot make its deadline learns it, and one with a cost learns that there are none", async (t) => {
  const { ask } = await worker(t);
  await ask("policy", { limit: "1" });
  assert.equal(await ask("run"), "ran");
  assert.equal((await ask("run", { options: JSON.stringify({ deadline: 100 }) })).code, "LATE");
  assert.match((await ask("run", { options: JSON.stringify({ cost: 2 }) })).message, /counts calls: leave the option cost away/);
});

test("without SQLite storage calls go on, and whoever listens is told what is missing", async (t) => {
  const { ask } = await worker(t, false);
  assert.equal(await ask("run"), "ran");
  const { missed, here } = await ask("stats");
  assert.match(missed.join(), /change `new_classes` to `new_sqlite_classes`/);
  assert.equal(here.alone, 1);
});

test("an object that never answers keeps nobody waiting for good, and whoever listens is told", async (t) => {
  const { ask } = await worker(t);
  await ask("silence");
  assert.deepEqual(await Promise.all(Array.from({ length: 4 }, () => ask("run"))), Array(4).fill("ran"));
  const { here, missed } = await ask("stats");
  assert.equal(here.alone, 4);
  assert.match(missed.join(), /no answer has come in time/);
});

test("a gate that is given no binding says so", async (t) => {
  const { ask } = await worker(t);
  assert.match((await ask("unbound")).message, /shared is no binding of Durable Objects: name one in wrangler.jsonc/);
});

test("a gate that is given a limit says where that belongs", async (t) => {
  const { ask } = await worker(t);
  assert.match((await ask("misplaced")).message, /^requests is no option of a shared gate: the limit belongs where the budget is/);
});

test("the example type-checks, deploys as it is, and is served by a real API", async (t) => {
  const here = import.meta.dirname;
  const bin = (name) => `${here}/node_modules/.bin/${name}`;
  // Where it finds the packed package, and the tools.
  const folder = `${here}/node_modules/.shared-worker`;
  fs.rmSync(folder, { recursive: true, force: true });
  fs.cpSync(`${here}/../examples/shared-worker`, folder, { recursive: true, filter: (from) => !from.endsWith("node_modules") });
  await exec(bin("tsc"), ["-p", folder]);
  const env = { ...process.env, WRANGLER_SEND_METRICS: "false", CI: "1" };
  const { stdout } = await exec(bin("wrangler"), ["deploy", "--dry-run", "--outdir", "out"], { cwd: folder, env });
  assert.match(stdout, /env\.TIDEGATE \(Budget\)\s+Durable Object/);
  const { url, counts } = await api(t, "--limit", "50");
  const miniflare = new Miniflare({
    modules: true, modulesRoot: `${folder}/out`, scriptPath: `${folder}/out/index.js`, modulesRules: [{ type: "CompiledWasm", include: ["**/*.wasm"] }],
    compatibilityDate, host: "127.0.0.1", bindings: { API: url }, durableObjects: { TIDEGATE: { className: "Budget", useSQLite: true } },
  });
  t.after(() => miniflare.dispose());
  const answers = await Promise.all(Array.from({ length: 60 }, () => miniflare.dispatchFetch("http://worker/")));
  assert.deepEqual(answers.map(({ status }) => status), Array(60).fill(200));
  const { here: told, budget } = await (await miniflare.dispatchFetch("http://worker/stats")).json();
  const { offered, served, throttled } = await counts();
  assert.deepEqual([told.gone, told.throttled, served, budget.interval], [offered, throttled, 60, 20]);
});

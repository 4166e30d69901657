// A budget in a Durable Object: its policy, its storage, and mistakes of users.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import fs from "node:fs";
import test from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { Miniflare } from "miniflare";
import { serve } from "./http.mjs";
import { api } from "./live.mjs";
import { tool } from "./tools.mjs";
import { bundle } from "./workers.mjs";

const compatibilityDate = "2026-04-01";

const WORKER = `
  import { env } from "cloudflare:workers";
  import { tidegate, TidegateObject } from "tidegate/durable";
  let failing = [];
  /** The same storage, whose methods fail while \`failing\` names them. */
  const storage = (real) => new Proxy(real, { get(_, verb) {
    const value = real[verb];
    if (verb === "kv") return storage(value);
    return typeof value !== "function" ? value : (...args) => {
      if (!failing.includes(verb)) return value.apply(real, args);
      const error = new Error("Exceeded allowed rows written in Durable Objects free tier.");
      if (verb === "setAlarm") return Promise.reject(error);
      throw error;
    };
  } });
  export class Budget extends TidegateObject {
    constructor(ctx, env) {
      super(ctx, env);
      Object.defineProperty(this, "ctx", { value: { id: ctx.id, storage: storage(ctx.storage), abort: () => ctx.abort("evicted") } });
    }
    policy(key) { return { law: "fixed", requests: { limit: key.startsWith("slow") ? 1 : 100, per: 1_000 } }; }
    die() { this.ctx.abort("evicted"); }
    /** When the next leases of this isolate are due, on its own clock. */
    async grab(isolate, sequence) {
      const request = new DataView(new ArrayBuffer(24));
      [1, 1, 0, isolate].forEach((byte, at) => request.setUint8(at, byte));
      request.setUint32(11, sequence, true);
      request.setUint16(15, 40, true);
      let sum = 0x811c9dc5;
      for (let at = 0; at < 20; at++) sum = Math.imul(sum ^ request.getUint8(at), 0x01000193);
      request.setUint32(20, sum, true);
      const now = Date.now();
      const { buffer, byteOffset } = await super.lease(new Uint8Array(request.buffer));
      const grant = new DataView(buffer, byteOffset);
      return Array.from({ length: grant.getUint8(40) }, (_, n) => now + Number(grant.getBigInt64(49 + n * 16, true)) / 1e6);
    }
    ring() { return this.alarm(); }
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
        case "/fail": return Response.json((failing = say.get("verbs").split(",")));
        case "/grab": return Response.json(await budget.grab(+say.get("isolate"), +say.get("sequence")));
        case "/ring": return Response.json(await budget.ring() ?? null);
        case "/unbound": return Response.json(tidegate({ shared: env.ELSE }));
        case "/misplaced": return Response.json(tidegate({ shared: env.TIDEGATE, requests: { limit: 5, per: 1_000 } }));
      }
    } catch (error) {
      return Response.json({ name: error.name, code: error.code, message: error.message });
    }
  } };`;

/** A worker with the gates of several isolates, and its object with this storage. */
async function worker(t, useSQLite = true) {
  const miniflare = new Miniflare({
    modules: await bundle(WORKER), compatibilityDate, host: "127.0.0.1", durableObjects: { TIDEGATE: { className: "Budget", useSQLite } },
  });
  t.after(() => miniflare.dispose());
  const get = (path, say = {}) => miniflare.dispatchFetch(`http://worker/${path}?${new URLSearchParams(say)}`);
  return { get, ask: async (path, say) => (await get(path, say)).json() };
}

test("a new policy of the object applies to all members, also after an eviction", async (t) => {
  const { ask } = await worker(t);
  assert.equal(await ask("run"), "ran");
  await ask("policy", { limit: "20" });
  assert.equal((await ask("stats")).budget.interval, 50);
  assert.equal(await ask("die"), "dead");
  assert.equal((await ask("stats")).budget.interval, 50);
  await ask("policy");
  assert.equal((await ask("stats")).budget.interval, 10);
  assert.match((await ask("policy", { limit: "0" })).message, /requests.limit is 0; it must be a whole number from 1/);
});

test("an object with an invalid stored policy is repaired by a new policy", async (t) => {
  const { ask } = await worker(t);
  await ask("spoil");
  await ask("die");
  assert.equal((await ask("stats")).budget, null);
  await ask("policy", { limit: "20" });
  assert.equal((await ask("stats")).budget.interval, 50);
  await ask("die");
  assert.equal((await ask("stats")).budget.interval, 50);
});

test("a policy with another law is stored at once", async (t) => {
  const { ask } = await worker(t);
  assert.equal(await ask("run"), "ran");
  const before = await ask("kept");
  await sleep(20);
  await ask("policy", { law: "adaptive" });
  assert.ok((await ask("kept")) > before);
});

test("the alarm stores what was learned, and it is known after an eviction", async (t) => {
  const { ask, get } = await worker(t);
  await ask("policy", { law: "adaptive" });
  const first = await ask("kept");
  const fresh = (await ask("stats")).budget.interval;
  assert.equal(fresh, 0, "no limit has been met");
  let arrived = 0;
  const { url } = await serve(t, () => ({ status: ++arrived % 6 ? 200 : 429, headers: {} }));
  for (let call = 0; call < 12; call++) assert.match(`${(await get("fetch", { url })).status}`, /^(200|429)$/);
  // No more calls.
  for (let asked = 0; (await ask("kept")) === first; asked++) assert.ok(asked < 300 && (await sleep(50), true), "nothing was written");
  const learnt = (await ask("stats")).budget.interval;
  assert.ok(learnt > 0, "nothing was learnt");
  await ask("die");
  const { interval } = (await ask("stats")).budget;
  assert.ok(Math.abs(interval / learnt - 1) < 0.1, `${learnt}, and ${interval} after the eviction`);
});

test("an object gets its key from the gate, even a long one", async (t) => {
  const { ask } = await worker(t);
  const key = "slow".padEnd(1_500, "!");
  assert.equal((await ask("stats", { key })).budget.interval, 10, "nobody has told it");
  assert.equal(await ask("run", { options: JSON.stringify({ key }) }), "ran");
  assert.equal((await ask("stats", { key })).budget.interval, 1_000);
  await ask("die", { key });
  assert.equal((await ask("stats", { key })).budget.interval, 1_000);
});

test("a call that would miss its deadline is rejected, and so is a call with a cost", async (t) => {
  const { ask } = await worker(t);
  await ask("policy", { limit: "1" });
  assert.equal(await ask("run"), "ran");
  assert.equal((await ask("run", { options: JSON.stringify({ deadline: 100 }) })).code, "DEADLINE_EXCEEDED");
  assert.match((await ask("run", { options: JSON.stringify({ cost: 2 }) })).message, /counts calls: omit the option cost/);
});

test("without SQLite storage calls continue, and an event reports what is missing", async (t) => {
  const { ask } = await worker(t, false);
  assert.equal(await ask("run"), "ran");
  const { missed, here } = await ask("stats");
  assert.match(missed.join(), /change `new_classes` to `new_sqlite_classes`/);
  assert.equal(here.alone, 1);
});

test("an object whose storage fails continues, reports why, and stores its record later", async (t) => {
  const { ask } = await worker(t);
  await ask("fail", { verbs: "put,setAlarm" });
  for (let call = 0; call < 4; call++) assert.equal(await ask("run"), "ran");
  const { here, budget } = await ask("stats");
  assert.deepEqual([here.alone, here.missed, await ask("kept")], [0, 0, null]);
  assert.match(budget.unstored, /Exceeded allowed rows written/);
  assert.match((await ask("ring")).message, /^the budget of api is not stored: Error: Exceeded/);
  await ask("fail", { verbs: "" });
  assert.equal(await ask("run"), "ran");
  // The call may have been sent with an earlier lease.
  for (let asked = 0; (await ask("kept")) === null; asked++) assert.ok(asked < 200 && (await sleep(50), true), "nothing was stored");
  assert.equal((await ask("stats")).budget.unstored, undefined);
});

test("an object that cannot read its storage leases nothing, and calls continue", async (t) => {
  const { ask } = await worker(t);
  await ask("fail", { verbs: "get" });
  assert.equal(await ask("run"), "ran");
  const { here, missed } = await ask("stats");
  assert.equal(here.alone, 1);
  assert.match(missed.join(), /Exceeded/);
});

/** Asks until an isolate gets leases, and returns when they are due. */
async function grab({ ask }, isolate) {
  for (let sequence = 1; ; sequence++) {
    const due = await ask("grab", { isolate, sequence });
    if (due.length) return due;
    assert.ok(sequence < 100, "nothing is granted");
    await sleep(20);
  }
}

/** The first alarm finds a request, and the second finds none. */
async function rest({ ask }) {
  assert.deepEqual([await ask("ring"), await ask("ring")], [null, null]);
}

test("leases that could not be stored are used before a restarted object leases more", async (t) => {
  const BEFORE = {
    "it was never stored": () => {},
    "it was stored": (worker) => grab(worker, 1),
    "it had come to rest": async (worker) => {
      await grab(worker, 1);
      await rest(worker);
    },
    "it had come to rest, and was evicted": async (worker) => {
      await grab(worker, 1);
      await rest(worker);
      await worker.ask("die");
    },
  };
  for (const [what, before] of Object.entries(BEFORE)) {
    let next, last, elapsed, isSet;
    do {
      const clock = performance.now() - Date.now();
      const one = await worker(t);
      await before(one);
      await one.ask("fail", { verbs: "put,delete,setAlarm" });
      last = (await grab(one, 2)).at(-1);
      const dies = performance.now();
      assert.equal(await one.ask("die"), "dead");
      [next] = await grab(one, 3);
      elapsed = performance.now() - dies;
      // Both objects tell times by the system's clock, which may have been set meanwhile.
      isSet = Math.abs(performance.now() - Date.now() - clock) > 20;
    } while (isSet);
    assert.ok(next > last, `${what}: ${next - last} ms after the last, ${elapsed} ms later`);
  }
});

test("an idle object continues at once, and another one after everything that it may have leased", async (t) => {
  const goesOn = async (rests) => {
    const one = await worker(t);
    const last = (await grab(one, 1)).at(-1);
    if (rests) await rest(one);
    await sleep(last - Date.now());
    assert.equal(await one.ask("die"), "dead");
    const before = Date.now();
    const [next] = await grab(one, 2);
    return next - before;
  };
  const late = await goesOn(false);
  assert.ok(late >= 700, `${late} ms`);
  // A busy machine is late too, but not every time.
  for (let time = 1, took; ; time++) {
    took = await goesOn(true);
    if (took < 700) break;
    assert.ok(time < 10, `${took} ms`);
  }
});

test("a gate without a binding, or with a limit, reports what to do", async (t) => {
  const { ask } = await worker(t);
  assert.match((await ask("unbound")).message, /shared is not a binding of Durable Objects: add one under durable_objects in wrangler.jsonc/);
  assert.match((await ask("misplaced")).message, /^requests is not an option of a shared gate: return it/);
});

test("the example type-checks, and a real API serves it with its settings", async (t) => {
  // Here it finds the packed package.
  const folder = `${import.meta.dirname}/node_modules/.shared-worker`;
  fs.rmSync(folder, { recursive: true, force: true });
  fs.cpSync(`${import.meta.dirname}/../examples/shared-worker`, folder, { recursive: true, filter: (from) => !from.endsWith("node_modules") });
  await promisify(execFile)(process.execPath, [tool("typescript/bin/tsc"), "-p", folder]);
  const settings = JSON.parse(fs.readFileSync(`${folder}/wrangler.jsonc`, "utf8").replace(/^ *\/\/.*$/gm, ""));
  const stored = settings.migrations.flatMap(({ new_sqlite_classes }) => new_sqlite_classes);
  const objects = settings.durable_objects.bindings.map(({ name, class_name: className }) => [name, { className, useSQLite: stored.includes(className) }]);
  const main = JSON.stringify(`${folder}/${settings.main}`);
  const { url, counts } = await api(t, "--limit", "50");
  const miniflare = new Miniflare({
    modules: await bundle(`export * from ${main}; export { default } from ${main};`), compatibilityDate: settings.compatibility_date, host: "127.0.0.1",
    bindings: { ...settings.vars, API: url }, durableObjects: Object.fromEntries(objects),
  });
  t.after(() => miniflare.dispose());
  const answers = await Promise.all(Array.from({ length: 60 }, () => miniflare.dispatchFetch("http://worker/")));
  assert.deepEqual(answers.map(({ status }) => status), Array(60).fill(200));
  const { here: told, budget } = await (await miniflare.dispatchFetch("http://worker/stats")).json();
  const { offered, served, throttled } = await counts();
  assert.deepEqual([told.admitted, told.throttled, served, budget.interval], [offered, throttled, 60, 20]);
});

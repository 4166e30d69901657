// Cloudflare's runtime, by miniflare: one gate for the whole module, used by many requests at once.

import assert from "node:assert/strict";
import test from "node:test";
import { Miniflare } from "miniflare";
import { check, streaming } from "./aborts.mjs";
import { bundle } from "./workers.mjs";

async function worker(t, source, bindings = {}, compatibilityDate = "2026-04-01") {
  const miniflare = new Miniflare({ modules: await bundle(source), bindings, compatibilityDate });
  t.after(() => miniflare.dispose());
  return miniflare;
}

const GATE = `
  import { tidegate } from "tidegate";
  const gate = tidegate({ law: "fixed", requests: { limit: 1, per: 100 } });
  export default { async fetch() { await gate.run(() => {}); return new Response("through"); } };`;

for (const date of ["2026-04-01", "2025-05-31", "2024-01-01"]) {
  test(`a gate of the module answers six requests at once, compatible with ${date}`, async (t) => {
    const miniflare = await worker(t, GATE, {}, date);
    const answers = await Promise.all(Array.from({ length: 6 }, () => miniflare.dispatchFetch("http://worker/")));
    assert.deepEqual(await Promise.all(answers.map((answer) => answer.text())), Array(6).fill("through"));
  });
}

// Work that a request has not awaited when it answers ends with it: its timers never fire, its calls never end.
test("calls that end with their request do not delay later ones", async (t) => {
  const miniflare = await worker(t, `
    import { tidegate } from "tidegate";
    const gate = tidegate({ law: "fixed", requests: { limit: 1, per: 400 }, concurrency: 2, expiry: 500 });
    let ended = 0;
    const run = () => gate.run(() => new Promise((wake) => setTimeout(wake, 20))).then(() => ended++);
    export default { async fetch(request) {
      if (request.url.endsWith("lost")) for (let i = 0; i < 4; i++) run();
      else await run();
      return Response.json({ ended, waiting: gate.stats().waiting });
    } };`);
  const ask = async (path) => (await miniflare.dispatchFetch(`http://worker/${path}`)).json();
  assert.deepEqual(await ask("lost"), { ended: 0, waiting: 3 });
  await Promise.all(Array.from({ length: 6 }, () => ask("")));
  assert.deepEqual(await ask(""), { ended: 7, waiting: 0 });
});

test("the entries with every law and with one pacing gate run in workerd too", async (t) => {
  const miniflare = await worker(t, `
    import { tidegate } from "tidegate/full";
    import { tidegate as lite } from "tidegate/lite";
    import { pacing } from "tidegate/pacing";
    const gate = tidegate({ law: "aimd" });
    const less = lite({ requests: { limit: 1, per: 20 } });
    let one;
    export default { async fetch() {
      one ??= pacing({ limit: 1, per: 20 });
      await one.wait();
      return new Response(await gate.run(() => less.run(() => "through")));
    } };`);
  const answers = await Promise.all([1, 2, 3].map(() => miniflare.dispatchFetch("http://worker/")));
  assert.deepEqual(await Promise.all(answers.map((answer) => answer.text())), Array(3).fill("through"));
});

test("an abort after the headers closes the connection in workerd too", async (t) => {
  const { url, seen } = await streaming(t);
  const miniflare = await worker(t, `
    import { abort } from "./abort.mjs";
    export default { async fetch(request, { API }) { return Response.json(await abort(API)); } };`, { API: url });
  const told = await (await miniflare.dispatchFetch("http://worker/")).json();
  // The clock of the worker advances only when data arrives.
  const { timeOrigin } = performance;
  told.aborted = seen.slice(0, 3).map(({ at }) => timeOrigin + at + 20);
  await check(told, seen, url);
});

test("a response that a worker forwards frees its place at its end", async (t) => {
  const { url, seen } = await streaming(t);
  const miniflare = await worker(t, `
    import { tidegate } from "tidegate";
    const gate = tidegate({ concurrency: 1 });
    export default { async fetch(request, { API }) {
      return request.url.endsWith("stats") ? Response.json(gate.stats()) : gate.fetch(API + "last");
    } };`, { API: url });
  for (let i = 1; i < 4; i++) assert.equal(await (await miniflare.dispatchFetch("http://worker/")).text(), `answer ${i}`);
  const { inFlight, ok } = await (await miniflare.dispatchFetch("http://worker/stats")).json();
  assert.deepEqual({ inFlight, ok, calls: seen.length }, { inFlight: 0, ok: 3, calls: 3 });
});

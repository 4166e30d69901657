// The life of a call, from the first wait to the end of its body: its signals and its place in flight.

import assert from "node:assert/strict";
import test from "node:test";
import { DeadlineExceeded, tidegate, TidegateError } from "tidegate";
import { serve } from "./http.mjs";

const sleep = (ms) => new Promise((wake) => setTimeout(wake, ms));
const streams = () => ({ status: 200, streams: true });

async function until(holds, ms = 2_000) {
  const end = performance.now() + ms;
  while (!holds() && performance.now() < end) await sleep(2);
  assert.ok(holds(), String(holds));
}

const WAYS = {
  "init.signal": (gate, url, { signal }) => gate.fetch(url, { signal }),
  "a Request's signal": (gate, url, { signal }) => gate.fetch(new Request(url, { signal })),
  "the option signal": (gate, url, { signal }) => gate.fetch(url, {}, { signal }),
  "one of two signals": (gate, url, { signal }) => gate.fetch(url, { signal }, { signal: new AbortController().signal }),
  "the other of two": (gate, url, { signal }) => gate.fetch(url, { signal: new AbortController().signal }, { signal }),
  "a signal beside a deadline": (gate, url, { signal }) => gate.fetch(url, { signal }, { deadline: 60_000 }),
  "the signal of run": (gate, url, { signal }) => gate.run((signal) => fetch(url, { signal }), { signal }),
};

for (const [name, call] of Object.entries(WAYS)) {
  test(`an abort after the headers closes the connection: ${name}`, async (t) => {
    const { url, seen } = await serve(t, streams);
    const gate = tidegate();
    const controller = new AbortController();
    const answer = await call(gate, url, controller);
    const before = performance.now();
    controller.abort(new Error("enough"));
    await assert.rejects(answer.text(), /enough|aborted/);
    await until(() => seen[0].gone);
    assert.ok(seen[0].gone - before <= 2_000, `${seen[0].gone - before} ms`);
    assert.equal(gate.stats().inFlight, 0);
  });
}

for (const [name, call] of Object.entries({
  "AbortSignal.timeout": (gate, url) => gate.fetch(url, { signal: AbortSignal.timeout(1_000) }),
  deadline: (gate, url) => gate.fetch(url, {}, { deadline: 1_000 }),
})) {
  test(`a body that takes too long ends with its call: ${name}`, async (t) => {
    const { url, seen } = await serve(t, streams);
    const gate = tidegate();
    const answer = await call(gate, url);
    await assert.rejects(answer.text(), (error) => error.name === "TimeoutError" || error instanceof DeadlineExceeded);
    await until(() => seen[0].gone);
  });
}

test("a returned response keeps its URL, its headers and its clones", async (t) => {
  const { url } = await serve(t, () => ({ status: 201, headers: { "x-a": "1" } }));
  const answer = await tidegate().fetch(`${url}path`);
  for (const copy of [answer.clone().clone(), answer]) {
    assert.ok(copy instanceof Response);
    const { url: from, status, ok, type, redirected } = copy;
    assert.deepEqual({ from, status, ok, type, redirected }, { from: `${url}path`, status: 201, ok: true, type: "basic", redirected: false });
    assert.deepEqual([copy.headers.get("x-a"), await copy.text(), copy.bodyUsed], ["1", "answer 1", true]);
  }
});

test("a response that cannot be constructed is returned unchanged", async (t) => {
  const { url } = await serve(t, (number) => ({ status: number === 1 ? 999 : 204 }));
  const gate = tidegate({ concurrency: 1 });
  const unknown = await gate.fetch(url);
  assert.deepEqual([unknown.status, await unknown.text()], [999, "answer 1"]);
  assert.equal((await gate.fetch(url)).status, 204);
  const locked = new Response("x");
  const reader = locked.body.getReader();
  const custom = tidegate({ concurrency: 1, fetch: async () => locked });
  assert.equal(await custom.fetch("http://a"), locked);
  reader.releaseLock();
  const plain = tidegate({ concurrency: 1, fetch: async () => ({ status: 200, headers: {}, body: "x" }) });
  assert.equal((await plain.fetch("http://a")).body, "x");
  for (const { stats } of [gate, custom, plain]) assert.equal(stats().inFlight, 0);
});

test("a call keeps its place until its body ends, and an option frees it at the headers", async (t) => {
  const { url, seen } = await serve(t, streams);
  const gate = tidegate({ concurrency: 1 });
  const first = await gate.fetch(url);
  const second = gate.fetch(url);
  await sleep(50);
  assert.deepEqual([seen.length, gate.stats().ok, gate.stats().inFlight], [1, 1, 1]);
  seen[0].end();
  assert.equal(await first.text(), "answer 1");
  const { body } = await second;
  await body.cancel();
  await until(() => seen[1].gone);
  await gate.fetch(url, {}, { release: "headers" });
  await gate.fetch(url, {}, { release: "headers" });
  assert.deepEqual([seen.length, gate.stats().inFlight], [4, 0]);
});

test("a short body that is not read frees its place", async (t) => {
  const { url } = await serve(t, () => ({ status: 200, text: "x".repeat(30_000) }));
  const gate = tidegate({ concurrency: 1 });
  for (let i = 0; i < 5; i++) assert.equal((await gate.fetch(url)).status, 200);
  for (const method of ["HEAD", "GET"]) await gate.fetch(url, { method });
  await gate.idle();
  assert.equal(gate.stats().inFlight, 0);
});

test("a body that fails frees its place, and throws", async () => {
  const broken = new ReadableStream({ pull: (to) => to.error(new Error("broken")) }, { highWaterMark: 0 });
  const gate = tidegate({ concurrency: 1, fetch: async () => new Response(broken) });
  await assert.rejects((await gate.fetch("http://a")).text(), /broken/);
  assert.equal(gate.stats().inFlight, 0);
});

test("calls that share a signal leave no listeners on it, and Node prints no warning", async (t) => {
  const { url } = await serve(t, () => ({ status: 200 }));
  const warnings = [];
  const heard = (warning) => warnings.push(warning.name);
  process.on("warning", heard);
  t.after(() => process.off("warning", heard));
  const { signal } = new AbortController();
  let listeners = 0;
  const { addEventListener, removeEventListener } = signal;
  signal.addEventListener = (...args) => (listeners++, addEventListener.apply(signal, args));
  signal.removeEventListener = (...args) => (listeners--, removeEventListener.apply(signal, args));
  for (const options of [{}, { deadline: 60_000 }]) {
    const gate = tidegate({ concurrency: 2 });
    await Promise.all(Array.from({ length: 40 }, async () => (await gate.fetch(url, {}, { signal, ...options })).text()));
    await Promise.all(Array.from({ length: 40 }, () => gate.run(() => sleep(1), { signal, ...options })));
    await gate.idle();
  }
  await sleep(20);
  assert.deepEqual([warnings, listeners], [[], 0]);
});

test("a thousand calls with a deadline leave no timers after their bodies", async (t) => {
  const { url } = await serve(t, () => ({ status: 200 }));
  const gate = tidegate({ law: "none" });
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
  await (await gate.fetch(url)).text();
  const before = timers();
  for (let i = 0; i < 10; i++) {
    await Promise.all(Array.from({ length: 100 }, async () => (await gate.fetch(url, {}, { deadline: 3_600_000 })).text()));
  }
  assert.ok(timers() <= before + 5, `${timers()} timers, ${before} before`);
});

test("an invalid call throws at once, and nothing is sent", async (t) => {
  const { url, seen } = await serve(t, () => ({ status: 200 }));
  const gate = tidegate();
  for (const [input, init] of [[url, { method: "GET", body: "x" }], [url, { headers: { "a b": "c" } }], ["not a url", {}], [url, { method: "CONNECT" }]]) {
    await assert.rejects(gate.fetch(input, init), TypeError);
  }
  const request = new Request(url, { method: "PUT", body: "x" });
  await request.text();
  await assert.rejects(gate.fetch(request), TypeError);
  assert.deepEqual([seen.length, gate.stats().admitted], [0, 0]);
});

/** The number of attempts of a call whose fetch throws an error. */
async function attempts(error, init, options) {
  const gate = tidegate({ law: "backoff", backoff: { base: 1, max: 1 }, fetch: () => Promise.reject(error) });
  const whys = [];
  gate.on("gaveUp", ({ why }) => whys.push(why));
  await assert.rejects(gate.fetch("http://a", init, options), (thrown) => thrown === error);
  return [gate.stats().admitted, ...whys];
}

test("a call to an unknown host or with an invalid certificate is not retried", async () => {
  for (const code of ["ENOTFOUND", "CERT_HAS_EXPIRED", "DEPTH_ZERO_SELF_SIGNED_CERT", "ERR_TLS_CERT_ALTNAME_INVALID"]) {
    assert.deepEqual(await attempts(new TypeError("fetch failed", { cause: { code } })), [1, "error"]);
    assert.deepEqual(await attempts(Object.assign(new Error(), { code })), [1, "error"]);
  }
  const unwanted = (method, retry) => attempts(Object.assign(new Error(), { code: "ENOTFOUND" }), { method }, { retry });
  assert.deepEqual([await unwanted("POST"), await unwanted("GET", "throttled"), await unwanted("GET", false)], [[1, "method"], [1], [1]]);
  assert.deepEqual(await attempts(new TypeError("fetch failed", { cause: { code: "ECONNREFUSED" } })), [10, "attempts"]);
  const gate = tidegate({ law: "backoff" });
  await assert.rejects(gate.fetch("http://nobody.invalid/"), TypeError);
});

test("a browser's error, which may be an outage or CORS, has three attempts", async () => {
  for (const message of ["Failed to fetch", "Load failed", "NetworkError when attempting to fetch resource."]) {
    assert.deepEqual(await attempts(new TypeError(message)), [3, "attempts"]);
  }
});

test("a Request is retried with its body, also if it does not tell whether it has one, as in Firefox", async (t) => {
  const untold = (request) => Object.defineProperty(request, "body", { value: undefined });
  for (const [status, request] of [
    [503, (url) => new Request(url, { method: "PUT", body: "a body" })],
    [503, (url) => new Request(url, { method: "POST", body: "a body", headers: { "idempotency-key": "7" } })],
    [429, (url) => untold(new Request(url, { method: "POST", body: "a body" }))],
  ]) {
    const { url, seen } = await serve(t, (number) => ({ status: number < 3 ? status : 200 }));
    const answer = await tidegate({ law: "backoff", backoff: { base: 1, max: 1 } }).fetch(request(url));
    assert.deepEqual([answer.status, ...seen.map(({ body }) => body)], [200, "a body", "a body", "a body"]);
  }
});

test("a 429 after a redirect to another origin does not count for the first origin", async (t) => {
  const other = await serve(t, () => ({ status: 429, headers: { "retry-after": "3600" } }));
  const { url } = await serve(t, (_, { url }) => (url === "/moved" ? { status: 302, headers: { location: other.url } } : { status: 200 }));
  const gate = tidegate({ law: "backoff", attempts: 1 });
  assert.equal((await gate.fetch(`${url}moved`)).status, 429);
  assert.equal((await gate.fetch(url, {}, { deadline: 1_000 })).status, 200);
});

test("an outcome may read the body, and the response can be read after it", async (t) => {
  const { url, seen } = await serve(t, (number) => ({ status: 200, text: JSON.stringify(number < 3 ? { errors: ["THROTTLED"] } : { data: 1 }) }));
  const gate = tidegate({ law: "backoff", backoff: { base: 1, max: 1 } });
  const outcome = async ({ value }) => ((await value.json()).errors ? "throttled" : undefined);
  const answer = await gate.fetch(url, {}, { outcome });
  assert.deepEqual([await answer.json(), seen.length, gate.stats().throttled], [{ data: 1 }, 3, 2]);
  await gate.idle();
});

test("a final outcome is not retried, and errors of the outcome function are thrown", async (t) => {
  const { url, seen } = await serve(t, () => ({ status: 429 }));
  const gate = tidegate();
  assert.equal((await gate.fetch(url, {}, { outcome: () => "final" })).status, 429);
  await assert.rejects(gate.run(() => { throw Object.assign(new Error("no"), { status: 429 }); }, { outcome: () => "final" }), /no/);
  await assert.rejects(gate.fetch(url, {}, { outcome: () => Promise.reject(new RangeError("mine")) }), /mine/);
  await assert.rejects(gate.fetch(url, {}, { outcome: () => "fine" }), /the outcome is "fine"; it must be one of ok,/);
  await gate.idle();
  const { ok, abandoned, inFlight } = gate.stats();
  assert.deepEqual([seen.length, ok, abandoned, inFlight], [3, 2, 2, 0]);
});

test("the actual cost is read from the response", async (t) => {
  const { url } = await serve(t, () => ({ status: 200, text: '{"usage":100}' }));
  const gate = tidegate({ law: "fixed", tokens: { limit: 1_000, per: 3_600_000 } });
  const actualCost = async (response) => ({ tokens: (await response.json()).usage });
  const answer = await gate.fetch(url, {}, { cost: { tokens: 800 }, actualCost });
  assert.deepEqual(await answer.json(), { usage: 100 });
  assert.ok(gate.tryAcquire({ key: new URL(url).origin, cost: { tokens: 890 } }));
});

test("an attempt that hangs is aborted and repeated, and a slow body is not cut", async (t) => {
  const aborted = [];
  const { url, seen } = await serve(t, streams);
  const hang = (signal) => new Promise((_, fail) => signal.addEventListener("abort", () => (aborted.push(signal.reason.code), fail(signal.reason))));
  let sent = 0;
  const gate = tidegate({ fetch: (input, init) => (++sent < 3 ? hang(init.signal) : fetch(input, init)) });
  const settled = [];
  gate.on("settled", ({ outcome }) => settled.push(outcome));
  const answer = await gate.fetch(url, {}, { attemptTimeout: 1_000 });
  assert.deepEqual([settled, aborted], [["failed", "failed", "ok"], ["ATTEMPT_TIMEOUT", "ATTEMPT_TIMEOUT"]]);
  await sleep(1_200);
  assert.equal(gate.stats().inFlight, 1);
  seen.at(-1).end();
  assert.match(await answer.text(), /^answer/);
  assert.equal(gate.stats().inFlight, 0);
});

test("the last attempt that hangs ends with the reason, and other ends of a call with theirs", async () => {
  const gate = tidegate({ law: "none", attempts: 2 });
  const hangs = () => new Promise(() => {});
  const ended = (options) => gate.run(hangs, { attemptTimeout: 20, retry: true, ...options }).catch((error) => error);
  const error = await ended();
  assert.ok(error instanceof TidegateError);
  assert.deepEqual([error.code, error.message, gate.stats().failed], ["ATTEMPT_TIMEOUT", "the attempt took longer than attemptTimeout, 20 ms", 2]);
  assert.equal((await ended({ deadline: 10, attemptTimeout: 5_000 })).code, "DEADLINE_EXCEEDED");
  assert.equal(await ended({ signal: AbortSignal.abort("stop") }), "stop");
  assert.equal((await gate.with({ attemptTimeout: 20 }).run(hangs).catch((error) => error)).code, "ATTEMPT_TIMEOUT");
  assert.equal(await gate.run(() => 1, { attemptTimeout: 5_000 }), 1);
});

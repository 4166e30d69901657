// Which calls `fetch` retries, which it does not, and the events that it reports.

import assert from "node:assert/strict";
import { once as event } from "node:events";
import http2 from "node:http2";
import { Readable, Stream } from "node:stream";
import test from "node:test";
import OpenAI from "openai";
import { DeadlineExceeded, errorOf, tidegate } from "tidegate";
import { tidegate as full } from "tidegate/full";
import { tidegate as js } from "tidegate/js";
import { testClock } from "tidegate/test";
import { serve } from "./http.mjs";

const once = (status, headers) => (number) => (number === 1 ? { status, headers } : { status: 200 });

test("a Retry-After delays every call of its origin, and no other origin", async (t) => {
  const slow = await serve(t, (number) => (number === 1 ? { status: 429, headers: { "retry-after": "2" } } : { status: 200 }));
  const other = await serve(t, () => ({ status: 200 }));
  const gate = tidegate();
  const first = gate.fetch(slow.url);
  await new Promise((wake) => gate.on("throttled", wake));
  const throttled = slow.seen[0].at;
  await Promise.all([first, gate.fetch(slow.url), gate.fetch(slow.url), gate.fetch(other.url)]);
  for (const { at } of slow.seen.slice(1)) assert.ok(at - throttled >= 1_999, `a call came after ${at - throttled} ms`);
  assert.ok(other.seen[0].at < slow.seen[1].at, "a call to another origin does not wait");
  assert.equal(gate.stats().keys, 2);
});

const ENTRIES = { tidegate, full, js };
/** The ways to end a cooldown, and after how many milliseconds the first call that waits is sent. */
const ENDS = {
  "a reset": [(gate) => gate.reset(), 0],
  "a reset of its key": [(gate, key) => gate.reset(key), 0],
  "a lower maxCooldown": [(gate, _, law) => gate.setPolicy({ law, maxCooldown: 1_000 }), 1_000],
};
for (const [end, [ends, ms]] of Object.entries(ENDS)) {
  test(`${end} ends a cooldown of two weeks`, async (t) => {
    for (const [entry, make] of Object.entries(ENTRIES)) {
      for (const law of ["adaptive", "backoff", "none"]) {
        const { url, seen } = await serve(t, once(429, { "retry-after": "1209600" }));
        const { options, advance } = testClock();
        const gate = make({ ...options, law, warnAfter: Infinity });
        const told = [];
        gate.on("throttled", ({ cooldown }) => told.push(cooldown));
        const first = gate.fetch(url);
        told.push(await new Promise((wake) => gate.on("retry", ({ ms }) => wake(ms))));
        assert.deepEqual(told, [3_600_000, 3_600_000], "events say the longest cooldown of the policy");
        const calls = [first, gate.fetch(url), gate.fetch(url, {}, { priority: 1 })];
        // The delay between two attempts passes.
        await advance(60_000);
        gate.reset("https://another.example");
        assert.deepEqual([seen.length, gate.stats().waiting], [1, 3], `${entry}, ${law}`);
        ends(gate, new URL(url).origin, law);
        if (ms) {
          await advance(ms - 1);
          assert.equal(seen.length, 1, `${entry}, ${law}`);
          await advance(1);
        }
        // With a lower ceiling, "adaptive" sends one call first.
        assert.ok(gate.stats().waiting <= (ms ? 2 : 0), `${entry}, ${law}`);
        let served;
        Promise.all(calls).then((answers) => (served = answers));
        while (!served && options.now() < 120_000) await advance(10);
        assert.deepEqual(served?.map(({ status }) => status), [200, 200, 200], `${entry}, ${law}`);
      }
    }
  });
}

for (const method of ["GET", "HEAD", "OPTIONS", "PUT", "DELETE"]) {
  test(`${method} is idempotent and is retried`, async (t) => {
    const { url, seen } = await serve(t, once(503));
    const answer = await tidegate().fetch(url, { method });
    assert.deepEqual([answer.status, seen.length], [200, 2]);
  });
}

test("POST and PATCH are retried only if the server throttled them, also if the caller says so", async (t) => {
  // What the caller has said is no event.
  for (const [method, whys, retry] of [["POST", ["method"]], ["PATCH", ["method"]], ["POST", [], "throttled"]]) {
    for (const [status, ...expected] of [[429, 200, 2, []], [503, 503, 1, whys], [500, 500, 1, whys]]) {
      const { url, seen } = await serve(t, once(status));
      const gate = tidegate();
      const events = [];
      gate.on("gaveUp", (event) => events.push(event.why));
      const answer = await gate.fetch(url, { method, body: "x" }, { retry });
      assert.deepEqual([answer.status, seen.length, events], expected);
    }
  }
});

test("POST is retried if the caller permits it or sends an Idempotency-Key", async (t) => {
  const told = await serve(t, once(503));
  assert.equal((await tidegate().fetch(told.url, { method: "POST", body: "x" }, { retry: true })).status, 200);
  assert.deepEqual(told.seen.map(({ body }) => body), ["x", "x"]);
  const keyed = await serve(t, once(503));
  const headers = { "Idempotency-Key": "7" };
  assert.equal((await tidegate().fetch(keyed.url, { method: "POST", body: "x", headers })).status, 200);
});

test("a call is retried with any method if the server asks for that", async (t) => {
  const fetched = async (status, header, init, options) => {
    const { url, seen } = await serve(t, once(status, { [header]: "true" }));
    await tidegate().fetch(url, { method: "POST", ...init }, options);
    return seen.length;
  };
  for (const status of [500, 503, 529]) assert.equal(await fetched(status, "x-should-retry"), 2);
  assert.equal(await fetched(500, "Stripe-Should-Retry"), 2);
  assert.equal(await fetched(500, "x-should-retry", {}, { retry: false }), 1);
  assert.equal(await fetched(500, "x-should-retry", {}, { retry: "throttled" }), 1);
  assert.equal(await fetched(500, "x-should-retry", { body: new Blob(["once"]).stream(), duplex: "half" }), 1);
  for (const headers of [{ "x-should-retry": "true" }, { "X-Should-Retry": "True" }, new Headers({ "x-should-retry": "true" })]) {
    let sent = 0;
    const work = () => (sent++ ? "served" : Promise.reject(Object.assign(new Error(), { status: 500, headers })));
    assert.equal(await tidegate().run(work), "served");
  }
});

test("an SDK whose calls all are POST is served after an overload, as in the README", async (t) => {
  const { url, seen } = await serve(t, (number) => (number === 1 ? { status: 503 } : { status: 200, headers: { "content-type": "application/json" }, text: "{}" }));
  const client = new OpenAI({ apiKey: "none", baseURL: url, fetch: tidegate().with({ retry: true }).fetch, maxRetries: 0 });
  await client.chat.completions.create({ model: "m", messages: [] });
  assert.equal(seen.length, 2);
});

/** How an HTTP/2 server refuses a call that it has not processed, and a call that it may have processed. */
const REFUSALS = {
  "a refused stream": [(stream) => stream.close(http2.constants.NGHTTP2_REFUSED_STREAM), 2],
  "a stream above the last one of a GOAWAY": [({ session }) => session.goaway(0, 1), 2],
  "a cancelled stream": [(stream) => stream.close(http2.constants.NGHTTP2_CANCEL), 1],
};
for (const [name, [refuse, expected]] of Object.entries(REFUSALS)) {
  test(`${name} of HTTP/2 is sent ${expected === 2 ? "again with any method" : "once"}`, async (t) => {
    const server = http2.createServer();
    let seen = 0;
    server.on("stream", (stream, headers) => {
      stream.on("error", () => {});
      if (headers[":method"] === "GET") return;
      if (++seen === 1) return refuse(stream);
      stream.respond({ ":status": 200 });
      stream.end();
    });
    await event(server.listen(0), "listening");
    const sessions = [];
    t.after(() => (sessions.forEach((session) => session.destroy()), server.close()));
    const post = () => new Promise((done, fail) => {
      const session = http2.connect(`http://localhost:${server.address().port}`);
      sessions.push(session);
      // The first stream stays open.
      for (const one of [session, session.request()]) one.on("error", () => {});
      const stream = session.request({ ":method": "POST" });
      stream.on("response", (headers) => done(new Response(null, { status: headers[":status"] })));
      stream.on("error", fail);
      // A stream that the server cancels has no error.
      stream.on("close", () => fail(new Error("closed")));
      stream.end("x");
    });
    // As `fetch` wraps it, as it is, and as later versions of undici name it.
    const wrapped = [
      async () => post().catch((cause) => Promise.reject(new TypeError("fetch failed", { cause }))),
      post,
      async () => post().catch(({ message }) => Promise.reject(Object.assign(new Error(), { http2ErrorCode: /REFUSED/.test(message) ? 7 : 8 }))),
    ];
    for (const fetch of wrapped) {
      for (const options of [{}, { retry: "throttled" }]) {
        seen = 0;
        await tidegate({ fetch }).fetch("https://api/", { method: "POST" }, options).catch(() => {});
        assert.equal(seen, expected);
      }
      seen = 0;
      await tidegate({ fetch }).fetch("https://api/", { method: "POST" }, { retry: false }).catch(() => {});
      assert.equal(seen, 1);
    }
  });
}

test("a wait for a cooldown is named so, also if the law's pacing follows it", async (t) => {
  for (const [entry, make] of Object.entries(ENTRIES)) {
    const { url } = await serve(t, once(429, { "retry-after": "30" }));
    const key = new URL(url).origin;
    const { options, advance } = testClock();
    const gate = make({ ...options, warnAfter: Infinity });
    const told = [];
    gate.on("wait", ({ cause }) => told.push(cause));
    const call = gate.fetch(url);
    await new Promise((wake) => gate.on("wait", wake));
    gate.fetch(url, {}, { deadline: 60_000 }).catch(() => {});
    assert.deepEqual([told, gate.peek(key).cause, gate.stats().causes.cooldown], [["cooldown", "cooldown"], "cooldown", 2], entry);
    gate.reset();
    await advance(1_000);
    assert.equal((await call).status, 200);
    assert.notEqual(gate.peek(key).cause, "cooldown");
  }
  const { url } = await serve(t, () => ({ status: 429, headers: { "retry-after": "1" } }));
  const gate = tidegate({ requests: { limit: 1, per: 3_600_000 }, warnAfter: Infinity });
  await gate.fetch(url, {}, { retry: false });
  assert.equal(gate.peek(new URL(url).origin).cause, "pacing", "the hour is the limit's, not the server's");
});

test("a body stream is not retried, and an event reports why", async (t) => {
  const events = [];
  // Of the web, of Node, and of the package form-data.
  for (const body of [new Blob(["once"]).stream(), Readable.from(["once"]), new Stream()]) {
    const gate = tidegate();
    gate.on("gaveUp", (event) => events.push(event.why));
    const answer = await gate.fetch((await serve(t, once(429))).url, { method: "PUT", body, duplex: "half" });
    assert.deepEqual([answer.status, await answer.text(), events.pop()], [429, "answer 1", "body"]);
  }
  const { url, seen } = await serve(t, once(429));
  const gate = tidegate();
  const request = new Request(url, { method: "PUT", body: "a request's body is a stream too" });
  assert.equal((await gate.fetch(request)).status, 200);
  assert.equal(seen.length, 2);
});

test("a response that a retry cannot fix, or whose server forbids one, is returned at once", async (t) => {
  const forbids = { "x-should-retry": "false" };
  for (const [status, headers] of [[200], [201], [400], [401], [404], [422], [501], [505], [508], [429, forbids]]) {
    const { url, seen } = await serve(t, () => ({ status, headers }));
    const gate = tidegate();
    const whys = [];
    gate.on("gaveUp", ({ why }) => whys.push(why));
    assert.equal((await gate.fetch(url)).status, status);
    await gate.run(() => ({ status: 500, headers })); // No repeat is wanted.
    assert.deepEqual([seen.length, whys], [1, headers ? ["error"] : []]);
  }
});

test("after the last attempt the last response is returned with its body", async (t) => {
  const { url, seen } = await serve(t, () => ({ status: 429 }));
  const answer = await tidegate({ attempts: 3 }).fetch(url);
  assert.equal(answer.status, 429);
  assert.equal(await answer.text(), "answer 3");
  assert.equal(seen.length, 3);
});

test("a retry that would miss the deadline is rejected at once", async (t) => {
  const { url, seen } = await serve(t, () => ({ status: 429, headers: { "retry-after": "10800" } }));
  const gate = tidegate();
  const before = performance.now();
  const answer = await gate.fetch(url, {}, { deadline: 60_000 });
  assert.equal(answer.status, 429);
  assert.ok(performance.now() - before < 60_000);
  assert.equal(errorOf(answer).wait, 3_600_000, "no cooldown is longer");
  // The next call learns at once how long it would have to wait.
  await assert.rejects(gate.fetch(url, {}, { deadline: 60_000 }), (error) => error instanceof DeadlineExceeded && error.wait > 3_000_000);
  assert.equal(seen.length, 1);
});

test("a returned response can be read, and an event reports why it was not retried", async (t) => {
  const { url } = await serve(t, () => ({ status: 429, headers: { "retry-after": "5" } }));
  const throttled = [
    [{ law: "backoff" }, { deadline: 500 }, "deadline"],
    [{ law: "backoff", backoff: { base: 1, max: 1 }, maxCooldown: 1, retryBudget: { percent: 1, reserve: 1 } }, {}, "retryBudget"],
  ];
  for (const [policy, call, expected] of throttled) {
    const gate = tidegate(policy);
    const whys = [];
    gate.on("gaveUp", ({ why }) => whys.push(why));
    const answer = await gate.fetch(url, {}, call);
    assert.equal(answer.status, 429);
    assert.match(await answer.text(), /^answer \d+$/);
    assert.deepEqual(whys, [expected]);
  }
});

test("a response with a cancelled body is not returned: the call fails with the reason", async (t) => {
  const { url } = await serve(t, () => ({ status: 429, headers: { "retry-after": "1" } }));
  const gate = tidegate({ law: "fixed", requests: { limit: 2, per: 3_600_000, burst: 2 } });
  const whys = [];
  gate.on("gaveUp", ({ why }) => whys.push(why));
  // The call would be in time after the cooldown, but another one is sent first and uses the last call of the hour.
  let other;
  const off = gate.on("wait", () => {
    off();
    other = gate.run(() => {}, { key: "one", priority: 1 });
  });
  await assert.rejects(gate.fetch(url, {}, { key: "one", deadline: 2_000 }), DeadlineExceeded);
  assert.deepEqual(whys, ["deadline"]);
  await other;
});

test("a broken connection is retried if that is safe, else its error is thrown", async (t) => {
  const { url, seen } = await serve(t, () => ({ status: 200 }));
  const gate = tidegate({ attempts: 3 });
  const dead = "http://127.0.0.1:9/";
  await assert.rejects(gate.fetch(dead), TypeError);
  assert.equal(gate.stats("http://127.0.0.1:9").failed, 3);
  await assert.rejects(gate.fetch(dead, { method: "POST", body: "" }), TypeError);
  assert.equal(gate.stats("http://127.0.0.1:9").failed, 4);
  assert.equal((await gate.fetch(url)).status, 200);
  assert.equal(seen.length, 1);
});

/** The status of the calls that always fail, or none if the server closes their connections; one in how many calls; and how many per cent of the others are served. */
const BAD = [[500, 10, 99], [503, 10, 99], [undefined, 10, 99], [429, 10, 95], [429, 500, 95]];
test("a call that always fails stops no other call of its key", async (t) => {
  const entries = { tidegate: (url) => url, full: (url) => [`account ${url}`, url] };
  const cases = await Promise.all(
    Object.entries(entries).flatMap(([entry, keyOf]) =>
      BAD.map(async ([status, every, least]) => {
        const { url } = await serve(t, (_, request) => {
          if (request.url === "/bad" && !status) request.socket.destroy();
          return { status: request.url === "/bad" ? status ?? 500 : 200 };
        });
        const gate = ENTRIES[entry]();
        t.after(() => gate.close());
        const call = (path) => gate.fetch(url + path, {}, { key: keyOf(url), deadline: 5_000 }).then(({ status }) => status, () => 0);
        return { what: `${entry}: ${status ?? "a closed connection"}, one in ${every}`, every, least, call, good: [] };
      }),
    ),
  );
  // Fifty calls a second to each server, for four seconds.
  const begun = performance.now();
  for (let number = 0; number < 200; number++) {
    for (const { every, call, good } of cases) {
      if (number % every === 9) call("bad");
      else good.push(call("good"));
    }
    await new Promise((wake) => setTimeout(wake, begun + 20 * number - performance.now()));
  }
  for (const { what, least, good } of cases) {
    const served = (await Promise.all(good)).filter((status) => status === 200).length;
    assert.ok(served * 100 >= good.length * least, `${served} of ${good.length} served; ${what}`);
  }
});

test("a wrapped fetch works where the platform has no classes of fetch, as in jsdom", async (t) => {
  for (const name of ["fetch", "Headers", "Request", "Response", "TextEncoder"]) {
    const own = globalThis[name];
    t.after(() => (globalThis[name] = own));
    globalThis[name] = undefined;
  }
  let sent = 0;
  // Its module is not compiled yet.
  const gate = (await import("tidegate/lite")).tidegate({ fetch: async () => ({ status: sent++ % 2 ? 200 : 429, headers: { "retry-after": "0" } }) });
  for (const method of ["GET", "POST"]) assert.equal((await gate.fetch("http://api/", { method, headers: {} })).status, 200);
  assert.equal(sent, 4);
});

test("any fetch can be wrapped, with any key", async (t) => {
  const { url } = await serve(t, () => ({ status: 200 }));
  const asked = [];
  const gate = tidegate({
    fetch: (...args) => (asked.push(args[0]), fetch(...args)),
    key: ({ url, method }) => `${method} ${new URL(url).pathname}`,
  });
  const { fetch: paced } = gate;
  await paced(`${url}a?x=1`);
  await paced(new Request(`${url}a`), { method: "DELETE" });
  assert.equal(asked.length, 2);
  assert.equal(gate.stats("GET /a").ok, 1);
  assert.equal(gate.stats("DELETE /a").ok, 1);
});

// Limits that only the body of a response reports.

import assert from "node:assert/strict";
import test from "node:test";
import { DeadlineExceeded, errorOf, tidegate } from "tidegate";
import { serve } from "./http.mjs";

const json = { "content-type": "application/json; charset=utf-8" };
const say = (status, body) => ({ status, headers: json, text: JSON.stringify(body) });

/** The status and the outcome of each attempt. */
function outcomes(gate) {
  const seen = [];
  gate.on("settled", ({ status, outcome }) => seen.push(`${status} ${outcome}`));
  return seen;
}

test("a throttle that only the body reports is retried, also for a POST of GraphQL", async (t) => {
  const google = { error: { code: 403, errors: [{ reason: "userRateLimitExceeded" }] } };
  const shopify = { errors: [{ message: "Throttled", extensions: { code: "THROTTLED" } }] };
  for (const [status, body, path, method] of [[403, google, "", "GET"], [200, shopify, "admin/api", "POST"]]) {
    const { url, seen } = await serve(t, (number) => (number < 3 ? say(status, body) : say(200, { data: number })));
    const gate = tidegate();
    const heard = outcomes(gate);
    const answer = await gate.fetch(url + path, { method, body: method === "POST" ? "{}" : undefined });
    assert.deepEqual(await answer.json(), { data: 3 });
    assert.deepEqual(heard, [`${status} throttled`, `${status} throttled`, "200 ok"]);
    assert.equal(seen.length, 3);
  }
});

test("a call with an exhausted quota is sent once, and the caller gets the complete response", async (t) => {
  const body = { error: { code: "insufficient_quota", message: "x".repeat(20_000) } };
  const { url, seen } = await serve(t, () => say(429, body));
  const gate = tidegate();
  const [heard, given] = [outcomes(gate), []];
  gate.on("gaveUp", ({ why }) => given.push(why));
  const answer = await gate.fetch(url);
  assert.deepEqual([answer.status, await answer.json()], [429, body]);
  assert.deepEqual([heard, given, seen.length], [["429 exhausted"], ["exhausted"], 1]);
  assert.equal(errorOf(answer).code, "EXHAUSTED");
  // An SDK throws.
  const error = Object.assign(new Error("429"), { response: { status: 429, excerpt: new TextEncoder().encode('{"error":{"code":"insufficient_quota"}}') } });
  await assert.rejects(gate.run(() => Promise.reject(error)), error);
  assert.equal(errorOf(error).code, "EXHAUSTED");
  for (const none of [undefined, "text", new Response()]) assert.equal(errorOf(none), undefined);
});

test("a call ends at once if the quota is renewed after its deadline", async (t) => {
  const headers = () => ({ ...json, "x-ratelimit-limit": 5_000, "x-ratelimit-remaining": 0, "x-ratelimit-reset": Math.ceil(Date.now() / 1_000) + 2_400 });
  const text = JSON.stringify({ message: "API rate limit exceeded for user ID 12345." });
  const { url, seen } = await serve(t, () => ({ status: 403, headers: headers(), text }));
  const gate = tidegate();
  const heard = outcomes(gate);
  const answer = await gate.fetch(url, undefined, { deadline: 10_000 });
  assert.deepEqual([answer.status, await answer.text(), heard, seen.length], [403, text, ["403 throttled"], 1]);
  const error = errorOf(answer);
  assert.ok(error instanceof DeadlineExceeded && error.wait > 2_390_000, String(error));
  await assert.rejects(gate.fetch(url, undefined, { deadline: 10_000 }), { code: "DEADLINE_EXCEEDED" });
  assert.equal(seen.length, 1);
});

test("GraphQL calls without a stated cost stay within the remaining points, and those that cost none need none", async (t) => {
  let left = 1_000;
  const { url } = await serve(t, () => {
    left -= 100;
    const throttleStatus = { maximumAvailable: 1_000, currentlyAvailable: left, restoreRate: 50 };
    return say(200, { data: {}, extensions: { cost: { requestedQueryCost: 100, actualQueryCost: 100, throttleStatus } } });
  });
  const gate = tidegate();
  for (let n = 0; n < 7; n++) await (await gate.fetch(url, { method: "POST", body: "{}" })).text();
  assert.equal(left, 300);
  const take = (cost) => gate.tryAcquire({ key: new URL(url).origin, cost });
  const calls = Array.from({ length: 20 }, () => take());
  assert.ok(calls.filter(Boolean).length <= 4, "300 points are left, for calls of 100");
  assert.ok(take({ tokens: 0 }), "a call that costs no points needs none");
});

test("a stream is charged the tokens that it reports at its end, and the next call what it used", async (t) => {
  const streams = [
    ['{"type":"message_start","message":{"usage":{"input_tokens":250,"output_tokens":1}}}', '{"delta":{"text":"\\"total_tokens\\":7"}}', '{"usage":{"output_tokens":50}}'],
    ['{"choices":[{"delta":{"content":"Hello"}}],"usage":null}', '{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":200,"total_tokens":300}}', "[DONE]"],
  ];
  for (const events of streams) {
    const text = events.map((event) => `data: ${event}\n\n`).join("");
    const { url } = await serve(t, () => ({ status: 200, headers: { "content-type": "text/event-stream" }, text }));
    const gate = tidegate({ requests: { limit: 1_000, per: 3_600_000 }, tokens: { limit: 1_000, per: 3_600_000 } });
    const key = new URL(url).origin;
    // A permit whose call was not sent would be charged, so each look has its own answer.
    const hasRoom = (tokens) => gate.tryAcquire({ key, cost: { requests: 0, tokens } });
    const call = () => gate.fetch(url, { method: "POST", body: "{}" });
    assert.equal(await (await call()).text(), text);
    assert.equal(hasRoom(702), null);
    const answer = await call();
    assert.equal(hasRoom(402), null);
    await answer.body.cancel();
    assert.equal(hasRoom(402), null, "what it used is not known");
    assert.ok(hasRoom(400));
  }
});

test("a stream that begins with an error has the error's outcome, and one with content is ok", async (t) => {
  const overloaded = 'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n';
  const start = 'event: message_start\ndata: {"type":"message_start","message":{"content":[]}}\n\nevent: ping\ndata: {"type":"ping"}\n\n';
  const content = 'event: content_block_delta\ndata: {"type":"content_block_delta","delta":{"text":"Hello"}}\n\n';
  const streams = [
    [overloaded, "busy"],
    [`: comment\r\n\r\n${start}${overloaded}`, "busy"],
    ['data: {"error":{"message":"The server had an error","type":"server_error"}}\n\n', "busy"],
    ['event: response.created\ndata: {}\n\nevent: response.failed\ndata: {}\n\n', "busy"],
    ['event: response.failed\ndata: {"response":{"error":{"code":"rate_limit_exceeded","message":"Try again in 5ms."}}}\n\n', "throttled"],
    ['data: {"error":{}}', "busy"],
    [`${start}event: error\r\ndata: {"type":"error",\r\ndata:"error":{"type":"rate_limit_error"}}\r\n\r\n`, "throttled"],
    ['data: {"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}\n\n', "exhausted"],
    [`${start}${content}${overloaded}`, "ok"],
    ['data: {"choices":[{"delta":{"content":"\\ndata: {\\"error\\":1}"}}]}\n\n', "ok"],
    ["", "ok"],
    [": ".padEnd(20_000, "."), "ok"],
  ];
  for (const [text, outcome] of streams) {
    const { url, seen } = await serve(t, () => ({ status: 200, headers: { "content-type": "text/event-stream" }, text }));
    const gate = tidegate({ requests: { limit: 1_000, per: 1, burst: 1_000 } });
    const told = [];
    gate.on("throttled", ({ status, outcome, attempt }) => told.push([status, outcome, attempt]));
    const settled = outcomes(gate);
    const answer = await gate.fetch(url, { method: "POST" });
    assert.equal(await answer.text(), text);
    const isTold = outcome === "busy" || outcome === "throttled";
    assert.deepEqual([settled, told], [[`200 ${outcome}`], isTold ? [[200, outcome, 1]] : []], text.slice(0, 200));
    const { inFlight, [outcome]: counted = 1 } = gate.stats();
    assert.deepEqual([counted, inFlight, errorOf(answer)?.code], [1, 0, outcome === "exhausted" ? "EXHAUSTED" : undefined]);
    assert.equal(seen.length, 1, "the program has its response");
  }
});

test("a stream whose content is not known when its call ends counts as ok", async (t) => {
  for (const release of ["headers", "body"]) {
    const { url, seen } = await serve(t, () => ({ status: 200, headers: { "content-type": "text/event-stream" }, text: ": wait\n", streams: true }));
    const gate = tidegate();
    const answer = await gate.fetch(url, {}, { release });
    assert.equal(gate.stats().ok, release === "headers" ? 1 : 0);
    await answer.body.cancel();
    assert.deepEqual([gate.stats().ok, gate.stats().inFlight, seen.length], [1, 0, 1], release);
  }
});

test("a listener that ends a stream at its first event hears of it once", async (t) => {
  const { url } = await serve(t, () => ({ status: 200, headers: { "content-type": "text/event-stream" }, text: "event: error\ndata: {}\n\n", streams: true }));
  const gate = tidegate();
  const settled = outcomes(gate);
  const reader = (await gate.fetch(url)).body.getReader();
  gate.on("settled", () => reader.cancel());
  await reader.read();
  assert.deepEqual([settled, gate.stats().busy, gate.stats().inFlight], [["200 busy"], 1, 0]);
});

test("an error body that does not end delays no call", async (t) => {
  const { url, seen } = await serve(t, () => ({ status: 403, headers: json, text: "{", streams: true }));
  const answer = await tidegate().fetch(url);
  assert.equal(answer.status, 403);
  const reader = answer.body.getReader();
  assert.equal(new TextDecoder().decode((await reader.read()).value), "{");
  await reader.cancel();
  while (!seen[0].gone) await new Promise((wake) => setTimeout(wake, 10));
});

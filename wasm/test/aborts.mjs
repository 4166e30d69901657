// Checks what a server has seen of `abort.mjs`.

import assert from "node:assert/strict";
import { serve } from "./http.mjs";

/** Serves calls that stream until their callers disconnect, and one that ends. */
export const streaming = (test, headers) => serve(test, (_, { url }) => ({ status: 200, streams: url === "/stream", headers }));

/** Each connection was closed soon after the abort. The time is measured, so the fastest one of three counts. */
export async function check({ aborted, ended, last, url, inFlight }, seen, server, error = "DeadlineExceeded") {
  assert.deepEqual([aborted.length, ended, last, url, inFlight], [3, error, "answer 5", `${server}last`, 0]);
  for (const end = performance.now() + 5_000; seen.slice(0, 4).some(({ gone }) => !gone) && performance.now() < end; ) {
    await new Promise((wake) => setTimeout(wake, 5));
  }
  const ms = aborted.map((at, i) => seen[i].gone + performance.timeOrigin - at);
  assert.ok(Math.min(...ms) <= 100, `closed after ${ms.map(Math.round)} ms`);
  assert.ok(seen[3].gone, "the one past its deadline too");
}

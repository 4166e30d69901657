// A server on this machine that limits like a provider, and counts the results of each call.

import { createServer } from "node:http";
import { ideal, start } from "./rules.mjs";

/** The latency of a response, in milliseconds. */
export const LATENCY = 40;

const clock = () => performance.timeOrigin + performance.now();

/** Serves a provider's `rule` with the share `left` of its quota. Calls are `/calls/ID`. */
export async function serve(provider, { rule, left }) {
  const latency = rule.lasts ?? LATENCY;
  /** When each call passed. */
  const passed = new Map();
  const is = { offered: 0, throttled: 0, twice: 0, first: undefined, last: undefined, said: undefined };
  let at;
  let began;
  let counting = false;

  const answer = (res, after, status, headers, body) =>
    setTimeout(() => {
      res.writeHead(status, { "content-type": "application/json", ...headers });
      res.end(typeof body === "string" ? body : JSON.stringify(body));
      is.last = clock();
    }, after);

  const server = createServer((req, res) => {
    req.resume();
    if (!counting) return res.end();
    const now = clock();
    const id = req.url.slice(req.url.lastIndexOf("/") + 1);
    is.offered++;
    if (passed.has(id)) is.twice++;
    if (at.take(now)) {
      passed.set(id, now);
      is.first ??= now + latency;
      answer(res, latency, 200, provider.headers(at, now), provider.served?.(at, now) ?? { id });
    } else {
      const { status, headers, body, text } = provider.throttled;
      is.throttled++;
      is.said ??= provider.said?.(at, now);
      const all = { ...provider.headers(at, now), ...headers?.(at, now) };
      answer(res, LATENCY, status, all, text ?? (typeof body === "function" ? body(at, now) : body));
    }
  });
  server.keepAliveTimeout = 0;
  await new Promise((done) => server.listen({ port: 0, host: "127.0.0.1", backlog: 4_096 }, done));

  return {
    url: `http://127.0.0.1:${server.address().port}`,
    /** Starts the load. */
    begin() {
      began = clock();
      at = start(rule, began, left);
      counting = true;
    },
    /** From now on every call is admitted and none is counted. */
    open: () => (counting = false),
    /**
     * The results of `calls` calls, one of which is due every `every` milliseconds. Times are
     * seconds since the start.
     */
    counts(calls, every) {
      const since = (time) => time && (time - began) / 1_000;
      const soonest = (calls) => (ideal(rule, began, left, calls) + latency) / 1_000;
      return {
        seconds: since(is.last), first: since(is.first), said: is.said && is.said / 1_000, ideal: soonest(calls), soonest: soonest(1),
        latest: every && Math.max(...[...passed].map(([id, time]) => since(time) - (id.split("-")[1] * every) / 1_000)),
        offered: is.offered, throttled: is.throttled, lost: calls - passed.size, twice: is.twice,
      };
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

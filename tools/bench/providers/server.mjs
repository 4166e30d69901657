// A server on this machine that limits like a provider, and counts the results of each call: a process of tools/live.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { ideal } from "./rules.mjs";

/** The latency of a response, in milliseconds. */
export const LATENCY = 40;

/** `cargo xtask bench providers` builds it. */
const PROGRAM = process.env.TIDEGATE_LIVE ?? "tidegate-live";
const running = new Set();

export const stop = () => running.forEach((child) => child.kill());

/**
 * Serves a provider's `rule`, of a large plan or not, with the share `left` of its quota. Calls are `/calls/ID`.
 */
export async function serve(provider, { rule, left, isLarge }) {
  const latency = rule.lasts ?? LATENCY;
  const args = ["like", provider.name, "--left", String(left * 100), ...(isLarge ? ["--large"] : [])];
  /** A window that begins with a second begins before the load. */
  let over = 0;
  const child = spawn(PROGRAM, args, { stdio: ["ignore", "pipe", "inherit"] });
  running.add(child);
  const url = await new Promise((done, fail) => {
    createInterface({ input: child.stdout }).once("line", (line) => done(line.split(" ")[0]));
    child.once("error", fail).once("exit", (code) => fail(new Error(`the server of ${provider.name} ended with ${code}`)));
  });

  return {
    url,
    async begin() {
      over = rule.seconds ? Date.now() % 1_000 : 0;
      await fetch(`${url}/begin`, { method: "POST" });
    },
    /** From now on every call is admitted and none is counted. */
    open: () => fetch(`${url}/open`, { method: "POST" }),
    /**
     * The results of `calls` calls, one of which is due every `every` milliseconds. Times are
     * seconds since the start.
     */
    async counts(calls, every) {
      const { passed, offered, throttled, twice, first, last, said } = await (await fetch(`${url}/counts`)).json();
      const seconds = (ms) => (ms === null ? undefined : ms / 1_000);
      const soonest = (calls) => (ideal(rule, left, calls, over) + latency) / 1_000;
      return {
        seconds: seconds(last), first: seconds(first), said: seconds(said), ideal: soonest(calls), soonest: soonest(1),
        latest: every && Math.max(...Object.entries(passed).map(([id, ms]) => (ms - id.split("-")[1] * every) / 1_000)),
        offered, throttled, lost: calls - Object.keys(passed).length, twice,
      };
    },
    close() {
      running.delete(child);
      child.kill();
    },
  };
}

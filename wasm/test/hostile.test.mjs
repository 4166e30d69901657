// `fetch` and `run` against a malicious server on loopback: see tests/hostile.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import test from "node:test";
import { DeadlineExceeded, tidegate } from "tidegate";

const program = process.env.TIDEGATE_HOSTILE;
if (!program) throw new Error("TIDEGATE_HOSTILE names no server: run `cargo xtask test hostile`");

const DEADLINE = 2_000;
/** Between two calls of a worker, in ms. */
const PAUSE = 50;
/** The longest delay that a response may cause: a reported period of a day and a quarter. */
const LONGEST = 108_000_000;
/** How late a busy machine may be. */
const LATE = 300_000;
const MEMORY = 64 * 2 ** 20;

async function hostile(test) {
  // It ends when its standard input closes, so also if this process crashes.
  const child = spawn(program, [], { stdio: ["pipe", "pipe", "inherit"] });
  test.after(() => child.kill());
  const told = await new Promise((done, fail) => {
    createInterface({ input: child.stdout }).once("line", (line) => done(JSON.parse(line)));
    child.once("exit", (code) => fail(new Error(`the server ended with ${code}`)));
  });
  return { ...told, counts: async () => (await fetch(`${told.url}counts`)).json() };
}

const rss = () => {
  globalThis.gc?.();
  return process.memoryUsage().rss;
};

/** How long the next call of this key would have to wait, in milliseconds. */
async function wait(gate, key) {
  try {
    await gate.run(() => {}, { key, deadline: 0 });
    return 0;
  } catch (error) {
    assert.ok(error instanceof DeadlineExceeded, error);
    return error.wait;
  }
}

/** Checks that it ends in time, and returns its value or its error. */
async function ends(name, promise, ms) {
  let timer;
  const never = new Promise((_, fail) => (timer = setTimeout(() => fail(new Error(`${name} does not end within ${ms} ms`)), ms)));
  const settled = promise.then((value) => ({ value }), (error) => ({ error }));
  try {
    return await Promise.race([settled, never]);
  } finally {
    clearTimeout(timer);
  }
}

test("every response of the fuzz corpus ends, and delays no call for ever", async (t) => {
  const { url, corpus } = await hostile(t);
  const told = { read: 0, rejected: 0, longest: 0 };
  let next = 0;
  const worker = async () => {
    for (let number; (number = next++) < corpus; ) {
      const gate = tidegate();
      const { value, error } = await ends(
        `response ${number}`, gate.fetch(`${url}corpus/${number}`, {}, { retry: false, deadline: LATE }), 2 * LATE,
      );
      // `fetch` throws a TypeError if it cannot read a response.
      if (error) assert.ok(error instanceof TypeError, `response ${number}: ${error}`);
      told[error ? "rejected" : "read"]++;
      await value?.body?.cancel();
      const ms = await wait(gate, new URL(url).origin);
      assert.ok(ms <= LONGEST, `response ${number} keeps the next call back for ${ms} ms`);
      told.longest = Math.max(told.longest, ms);
      gate.close();
    }
  };
  await Promise.all(Array.from({ length: 16 }, worker));
  assert.equal(told.read + told.rejected, corpus);
  assert.ok(told.read > corpus / 4, `only ${told.read} of ${corpus} were read`);
  t.diagnostic(`${corpus} responses, ${told.read} read, ${told.rejected} rejected by the parser; the longest wait ${Math.round(told.longest / 1000)} s`);
});

test("with every hostile server each call ends by its deadline, and neither calls nor memory grow", async (t) => {
  const { url, moods, serves, counts } = await hostile(t);
  const before = rss();
  const gates = [];
  const ordeal = async (mood) => {
    const gate = tidegate();
    gates.push(gate);
    const call = (signal) => fetch(url + mood, { signal }).then(async (answer) => {
      for await (const _ of answer.body ?? []) signal.throwIfAborted();
      return answer;
    });
    const until = performance.now() + 3 * DEADLINE;
    let ended = 0;
    const worker = async () => {
      while (performance.now() < until) {
        const one = gate.fetch(url + mood, {}, { key: mood, deadline: DEADLINE }).then((answer) => answer.body?.cancel());
        await ends(`fetch, ${mood}`, one, DEADLINE + LATE);
        // The body, if there is one, is read to its end.
        await ends(`run, ${mood}`, gate.run(call, { key: mood, deadline: DEADLINE }), DEADLINE + LATE);
        ended += 2;
        await new Promise((rest) => setTimeout(rest, PAUSE));
      }
    };
    await Promise.all([worker(), worker()]);
    const ms = await wait(gate, mood);
    assert.ok(ms <= LONGEST, `${mood} keeps the next call back for ${ms} ms`);
    assert.equal(gate.stats().waiting, 0, mood);
    return ended;
  };
  const ended = await Promise.all(moods.map(ordeal));
  for (const [index, count] of ended.entries()) assert.ok(count >= 4, `${moods[index]}: ${count} calls ended`);
  const grown = rss() - before;
  const { calls } = await counts();
  for (const mood of moods) {
    assert.ok(calls[mood]?.length, `no call arrived at ${mood}`);
    // After the start. Served calls are not counted. To `fetch`, a body that is cut belongs to a call that was served.
    const busiest = Math.max(0, ...calls[mood].slice(2));
    const most = mood === "cut-body" ? 4 * 1_000 / PAUSE : 50;
    if (!serves.includes(mood)) assert.ok(busiest <= most, `${mood}: ${busiest} calls in a second`);
  }
  for (const gate of gates) gate.close();
  assert.ok(grown < MEMORY, `${grown} bytes more`);
  t.diagnostic(`${moods.length} moods, ${ended.reduce((a, b) => a + b)} calls ended, ${Math.round(grown / 2 ** 20)} MiB more at the end`);
});

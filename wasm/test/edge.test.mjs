// The condition `edge-light`, in the runtime of Vercel's test tools. It does not compile wasm; the host
// provides the module of an import that ends in `?module`.

import assert from "node:assert/strict";
import fs from "node:fs";
import test from "node:test";
import { EdgeVM } from "@edge-runtime/vm";
import { build } from "esbuild";
import { api } from "./live.mjs";
import { handedOver } from "./workers.mjs";

const dist = new URL("node_modules/tidegate/dist/", import.meta.url);

/** Bundles a program for the edge and runs it. */
async function edge(source) {
  const { outputFiles } = await build({
    stdin: { contents: source, resolveDir: import.meta.dirname },
    bundle: true, format: "iife", target: "es2022", conditions: ["edge-light"], plugins: [handedOver((name) => `export default globalThis.modules_of_wasm.${name};`)], write: false,
  });
  const modules_of_wasm = {};
  for (const name of ["tidegate", "full", "lite", "pacing"]) {
    modules_of_wasm[name] = await WebAssembly.compile(fs.readFileSync(new URL(`${name}.wasm`, dist)));
  }
  const vm = new EdgeVM({
    codeGeneration: { strings: false, wasm: false },
    extend: (context) => Object.assign(context, { modules_of_wasm }),
  });
  vm.evaluate(outputFiles[0].text);
  return vm;
}

test("a gate of the module serves real calls if no wasm may be compiled", async (t) => {
  const { url, counts } = await api(t, "--hints", "ietf");
  const vm = await edge(`
    import { tidegate } from "tidegate";
    const gate = tidegate();
    globalThis.call = (url) => gate.fetch(url).then((answer) => answer.text());`);
  assert.throws(() => vm.evaluate("new WebAssembly.Module(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]))"), /disallowed/);
  const call = vm.evaluate("globalThis.call");
  const bodies = await Promise.all(Array.from({ length: 40 }, () => call(url)));
  assert.deepEqual(bodies, Array(40).fill("served\n"));
  assert.equal((await counts()).served, 40);
});

test("a gap on the edge begins with the end of a call", async () => {
  const vm = await edge(`
    import { tidegate } from "tidegate";
    let sleeps = 0;
    const timers = { setTimeout: (then, ms) => (sleeps++, setTimeout(then, ms)), clearTimeout };
    const gate = tidegate({ gap: 60, timers });
    const work = async () => {
      const start = performance.now();
      await new Promise((wake) => setTimeout(wake, 30));
      return [start, performance.now()];
    };
    globalThis.calls = () => Promise.all([1, 2, 3].map(() => gate.run(work)));
    // Its end is known, so no call polls.
    globalThis.polls = async () => {
      const before = sleeps;
      await gate.run(() => {});
      await gate.run(() => {});
      return sleeps - before;
    };`);
  const calls = await vm.evaluate("globalThis.calls")();
  const pauses = calls.slice(1).map(([start], i) => start - calls[i][1]);
  assert.ok(pauses.every((ms) => ms >= 60 && ms < 200), `${pauses}`);
  const polls = await vm.evaluate("globalThis.polls")();
  assert.ok(polls >= 2 && polls <= 10, `${polls}`);
});

test("a long wait on the edge polls from time to time, because nothing wakes it", async () => {
  const vm = await edge(`
    import { tidegate } from "tidegate";
    const hour = 3_600_000;
    globalThis.call = async () => {
      const gate = tidegate({ law: "fixed", requests: { limit: 1, per: hour } });
      await gate.run(() => {});
      const left = [];
      const waits = [1, 2, 3].map((i) => gate.run(() => left.push(i)));
      const late = gate.run(() => {}, { deadline: 4 * hour });
      const { waiting } = gate.stats();
      gate.setPolicy({ law: "none" });
      await Promise.all([...waits, late]);
      return [waiting, ...left].join();
    };`);
  assert.equal(await vm.evaluate("globalThis.call()"), "4,1,2,3");
});

test("a paused gate sends nothing on the edge either, and continues when its calls poll again", async () => {
  const vm = await edge(`
    import { tidegate } from "tidegate";
    globalThis.call = async () => {
      const gate = tidegate({ law: "none" });
      const sent = [];
      gate.pause();
      const calls = ["low", "high"].map((name, priority) => gate.run(() => sent.push(name), { priority }));
      await new Promise((wake) => setTimeout(wake, 30));
      const before = [sent.length, gate.peek().cause];
      gate.resume();
      // The event loop is busy, so both calls wake late. Neither is lost.
      for (const end = Date.now() + 60; Date.now() < end;);
      await gate.idle();
      return [...before, ...sent].join();
    };`);
  assert.equal(await vm.evaluate("globalThis.call()"), "0,paused,high,low");
});

test("the entries with every law, with less, with one pacing gate and in plain JavaScript run on the edge too", async () => {
  const vm = await edge(`
    import { tidegate as everyLaw } from "tidegate/full";
    import { tidegate as lite } from "tidegate/lite";
    import { tidegate as plain } from "tidegate/js";
    import { pacing } from "tidegate/pacing";
    globalThis.call = async () => {
      await pacing({ limit: 1, per: 20 }).wait();
      const gates = [everyLaw({ law: "aimd" }), plain(), lite()];
      return (await Promise.all(gates.map((gate) => gate.run(() => "through")))).join();
    };`);
  assert.equal(await vm.evaluate("globalThis.call()"), "through,through,through");
});

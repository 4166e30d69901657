// The module returns the same numbers as the crate on the machine that built it, in every engine.
// So does the output of wasm2js.

import assert from "node:assert/strict";
import fs from "node:fs";
import test from "node:test";
import { pathToFileURL } from "node:url";
import { Miniflare } from "miniflare";
import { chromium } from "playwright-core";
import { repeat } from "./repeat.mjs";

const dist = new URL("node_modules/tidegate/dist/", import.meta.url);
const MODULES = [["gate", "tidegate.wasm"], ["full", "full.wasm"]];
const bytesOf = (file) => fs.readFileSync(new URL(file, dist));
const traceOf = (name) => fs.readFileSync(process.env[`TIDEGATE_TRACE_${name.toUpperCase()}`], "utf8");

/** Compares an answer of `repeat` with the length of the trace. */
function complete(t, answer) {
  assert.equal(typeof answer, "number", answer);
  t.diagnostic(`${answer} answers`);
  assert.ok(answer > 20_000);
}

for (const [name, file] of MODULES) {
  test(`${file} repeats every answer of the crate's trace here`, (t) => {
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytesOf(file)));
    complete(t, repeat(exports, traceOf(name)));
  });

  test(`${file} repeats every answer in Chromium`, async (t) => {
    const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
    t.after(() => browser.close());
    const page = await browser.newPage();
    const run = `async ([bytes, trace]) => {
      const { instance } = await WebAssembly.instantiate(Uint8Array.from(atob(bytes), (code) => code.charCodeAt()));
      return (${repeat})(instance.exports, trace);
    }`;
    complete(t, await page.evaluate(`(${run})(${JSON.stringify([bytesOf(file).toString("base64"), traceOf(name)])})`));
  });

  test(`${file} repeats every answer in workerd`, async (t) => {
    const source = `
      import module from "./${file}";
      const repeat = ${repeat};
      export default { async fetch(request) {
        return Response.json(repeat(new WebAssembly.Instance(module).exports, await request.text()));
      } };`;
    const miniflare = new Miniflare({
      compatibilityDate: "2026-04-01",
      modules: [{ type: "ESModule", path: "worker.js", contents: source }, { type: "CompiledWasm", path: file, contents: bytesOf(file) }],
    });
    t.after(() => miniflare.dispose());
    const answer = await miniflare.dispatchFetch("http://worker/", { method: "POST", body: traceOf(name) });
    complete(t, await answer.json());
  });
}

test("the core in plain JavaScript repeats every answer", async (t) => {
  const { instantiate } = await import(pathToFileURL(process.env.TIDEGATE_PLAIN));
  complete(t, repeat(instantiate(), traceOf("gate")));
});

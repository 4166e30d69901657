// The modules return the same numbers as the crate on the machine that built them, in two engines.
// So does the output of wasm2js.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import test from "node:test";
import { pathToFileURL } from "node:url";
import { repeat } from "./repeat.mjs";
import { RUNTIMES } from "./runtimes.mjs";

const dist = path.join(import.meta.dirname, "node_modules/tidegate/dist");
const traceOf = (name) => process.env[`TIDEGATE_TRACE_${name.toUpperCase()}`];

/** Compares an answer of `repeat` with the length of the trace. */
function complete(t, answer) {
  assert.match(String(answer), /^\d+$/);
  t.diagnostic(`${answer} answers`);
  assert.ok(answer > 20_000);
}

for (const [name, file] of [["gate", "tidegate.wasm"], ["full", "full.wasm"]]) {
  for (const runtime of ["Node 22", "Bun"]) {
    test(`${file} repeats every answer of the crate's trace in ${runtime}`, (t) => {
      const [program, ...args] = [...RUNTIMES[runtime], path.join(import.meta.dirname, "repeat.mjs")];
      complete(t, execFileSync(program, [...args, path.join(dist, file), traceOf(name)], { encoding: "utf8" }).trim());
    });
  }
}

test("the core in plain JavaScript repeats every answer", async (t) => {
  const { instantiate } = await import(pathToFileURL(process.env.TIDEGATE_PLAIN));
  complete(t, repeat(instantiate(), fs.readFileSync(traceOf("gate"), "utf8")));
});

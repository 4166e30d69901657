// The module answers as the crate does on this machine, number by number.

import assert from "node:assert/strict";
import fs from "node:fs";
import test from "node:test";

const dist = new URL("node_modules/tidegate/dist/", import.meta.url);

for (const [name, file] of [["gate", "tidegate.wasm"], ["laws", "laws.wasm"]]) {
  test(`${file} repeats every answer of the crate's trace`, (t) => {
    const lines = fs.readFileSync(process.env[`TIDEGATE_TRACE_${name.toUpperCase()}`], "utf8").trim().split("\n");
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(fs.readFileSync(new URL(file, dist))));
    lines.forEach((line, index) => {
      const [verb, numbers, expected] = JSON.parse(line);
      let given = numbers.map(Number);
      if (verb === "open") {
        new Float64Array(exports.memory.buffer, exports.numbers(), 18).set(given.splice(0, 18));
      }
      const answer = exports[verb](...given) ?? 0;
      assert.ok(Object.is(answer, Number(expected)) || answer === Number(expected), `line ${index + 1}, ${line}: the module says ${answer}`);
    });
    t.diagnostic(`${lines.length} answers`);
    assert.ok(lines.length > 20_000);
  });
}

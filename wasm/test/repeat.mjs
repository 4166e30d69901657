// Repeats a trace with a module's exports: the first answer that differs, or how many there were.

import fs from "node:fs";
import process from "node:process";

export function repeat(exports, text) {
  const lines = text.trim().split("\n");
  for (const [index, line] of lines.entries()) {
    const [verb, numbers, expected] = JSON.parse(line);
    const given = numbers.map(Number);
    if (verb === "open") {
      const row = given.splice(0, given.length - 4);
      new Float64Array(exports.memory.buffer, exports.numbers(), row.length).set(row);
    }
    const answer = exports[verb](...given) ?? 0;
    if (!Object.is(answer, Number(expected)) && answer !== Number(expected)) {
      return `line ${index + 1}, ${line}: the module says ${answer}`;
    }
  }
  return lines.length;
}

// `repeat.mjs MODULE TRACE` prints it.
if (process.argv[1] === import.meta.filename) {
  const [module, trace] = process.argv.slice(2).map((file) => fs.readFileSync(file));
  const { instance } = await WebAssembly.instantiate(module);
  console.log(repeat(instance.exports, trace.toString()));
}

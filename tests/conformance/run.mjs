// `node run.mjs MODULE`, or with another runtime: replays all vectors and prints their number.

import fs from "node:fs";
import process from "node:process";

const TOLD = 20;

const [, , module] = process.argv;
if (!module) {
  console.error("usage: node run.mjs MODULE");
  process.exit(2);
}
const { memory, text, text_at, text_length, play } = (await WebAssembly.instantiate(fs.readFileSync(module))).instance.exports;
const folder = new URL("../vectors/", import.meta.url);
const files = fs.readdirSync(folder).filter((name) => name.endsWith(".jsonl")).sort();
const vectors = files.flatMap((name) => fs.readFileSync(new URL(name, folder), "utf8").trimEnd().split("\n"));

let all = 0;
const differences = [];
for (const vector of vectors) {
  const bytes = new TextEncoder().encode(vector);
  const at = text(bytes.length);
  new Uint8Array(memory.buffer).set(bytes, at);
  const steps = play();
  if (steps >= 0) all += steps;
  else differences.push(new TextDecoder().decode(new Uint8Array(memory.buffer, text_at(), text_length())));
}
console.log(`all ${vectors.length} ${all} ${differences.length}`);
for (const difference of differences.slice(0, TOLD)) console.error(difference);
process.exitCode = vectors.length > 0 && differences.length === 0 ? 0 : 1;

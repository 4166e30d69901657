// What a package must be that others build on: its map, its types, and its size.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import test from "node:test";
import { promisify } from "node:util";
import { measure, table } from "./sizes.mjs";

const run = promisify(execFile);
const here = import.meta.dirname;
const bin = (name) => path.join(here, "node_modules/.bin", name);
const installed = path.join(here, "node_modules/tidegate");

test("publint finds nothing", async () => {
  const { stdout } = await run(bin("publint"), ["--strict", installed]);
  assert.match(stdout, /All good/);
});

// Resolution as of Node 10 knows no `exports`: there is the main entry alone. What Cloudflare alone runs is no CommonJS.
test("types resolve wherever exports are known", async () => {
  const packed = process.env.TIDEGATE_PACKED;
  await run(bin("attw"), [packed, "--profile", "node16", "--exclude-entrypoints", "./tidegate.wasm", "./durable"]);
});

for (const [name, options] of Object.entries({
  "ESM": ["--module", "nodenext", "--moduleResolution", "nodenext"],
  "a bundler": ["--module", "esnext", "--moduleResolution", "bundler"],
})) {
  test(`a strict program type-checks under ${name}, and a wrong one does not`, async () => {
    const check = (file) => run(bin("tsc"), ["--noEmit", "--strict", "--target", "es2022", "--lib", "es2022,dom", "--ignoreConfig", ...options, file], { cwd: here });
    await check("types.ts");
    await assert.rejects(check("wrong-types.ts"), ({ stdout }) => (stdout.match(/error TS/g) ?? []).length === 5);
  });
}

test("what a page pays is what the committed table says, to a fiftieth", async () => {
  const rows = await measure();
  const file = path.join(here, "sizes.md");
  if (process.env.BLESS) fs.writeFileSync(file, table(rows));
  const told = fs.readFileSync(file, "utf8");
  for (const { from, gz } of rows) {
    const [, committed] = new RegExp(`\\| ${from} \\| \\d+ \\| (\\d+)`).exec(told) ?? [];
    assert.ok(Math.abs(gz - committed) <= gz / 50, `${from} is ${gz} bytes, and ${committed} in the table: BLESS=1 writes it anew`);
  }
  assert.ok(rows.find(({ from }) => from === "tidegate/pace").gz <= 4_096);
});

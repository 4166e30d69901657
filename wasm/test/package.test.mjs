// Properties of the package that its users rely on: its exports, its types, and its size.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import test from "node:test";
import { promisify } from "node:util";
import { measure, table } from "./sizes.mjs";
import { tool } from "./tools.mjs";

const run = promisify(execFile);
const here = import.meta.dirname;
const installed = path.join(here, "node_modules/tidegate");

test("publint finds nothing", async () => {
  const { stdout } = await run(tool(".bin/publint"), ["--strict", installed]);
  assert.match(stdout, /All good/);
});

const MODULES = {
  "as ESM and CommonJS in Node, without the DOM": [["types.ts", "types.cts"], "--module", "nodenext", "--moduleResolution", "nodenext", "--lib", "es2022", "--types", "node"],
  "by a bundler for a page": [["types.ts"], "--module", "esnext", "--moduleResolution", "bundler", "--lib", "es2022,dom", "--typeRoots", "none"],
};
const tsc = (version, files, options) => {
  const program = tool(`${version}/bin/tsc`);
  const own = version === "typescript" ? ["--ignoreConfig"] : [];
  return run(process.execPath, [program, "--noEmit", "--strict", "--target", "es2022", ...own, ...options, ...files], { cwd: here });
};

for (const version of ["typescript", "typescript-5.0"]) {
  for (const [name, [files, ...options]] of Object.entries(MODULES)) {
    test(`${version} accepts a strict program ${name}, and finds the errors in another`, async () => {
      options.push("--exactOptionalPropertyTypes");
      await assert.rejects(tsc(version, [...files, "wrong-types.ts"], options), ({ stdout }) => {
        const errors = stdout.match(/^\S+(?=: error TS)/gm) ?? [];
        assert.equal(errors.filter((place) => place.startsWith("wrong-types.ts")).length, 14, stdout);
        assert.equal(errors.length, 14, stdout);
        return true;
      });
    });
  }
}

test("TypeScript 5 finds every entry as older CommonJS projects resolve it", async (t) => {
  const folder = fs.mkdtempSync(path.join(here, "node_modules/.node10-"));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  const { exports } = JSON.parse(fs.readFileSync(path.join(installed, "package.json"), "utf8"));
  const entries = Object.keys(exports).filter((entry) => !/\.json$|durable/.test(entry)).map((entry) => path.posix.join("tidegate", entry));
  fs.writeFileSync(path.join(folder, "program.ts"), entries.map((entry, i) => `import * as entry${i} from "${entry}";\nvoid entry${i};\n`).join(""));
  const options = ["--module", "commonjs", "--moduleResolution", "node", "--lib", "es2022,dom", "--typeRoots", "none"];
  await tsc("typescript-5.0", [path.join(folder, "program.ts")], options);
});

test("an error is an instance of the same class of every entry, imported or required", async () => {
  const require = createRequire(import.meta.url);
  const entries = ["tidegate", "tidegate/lite", "tidegate/full", "tidegate/js", "tidegate/local"];
  const copies = [...await Promise.all(entries.map((entry) => import(entry))), ...entries.map(require)];
  const own = class QueueFull extends copies[0].TidegateError {};
  for (const { tidegate } of copies) {
    const gate = tidegate({ queue: 0 });
    gate.close();
    const error = await gate.run(() => 1).catch((error) => error);
    for (const { Closed, QueueFull, TidegateError } of copies) {
      assert.deepEqual([error instanceof Closed, error instanceof TidegateError, error instanceof QueueFull, error instanceof own], [true, true, false, false]);
      assert.ok(new own("CLOSED", "") instanceof TidegateError);
      for (const other of [undefined, null, 5, "text", {}, Object.create(null), new Error()]) assert.equal(other instanceof TidegateError, false);
    }
  }
  assert.ok(new own("CLOSED", "") instanceof own);
});

// The entry for Durable Objects needs Cloudflare's runtime.
test("each entry exports the values that its types declare, imported and required", async (t) => {
  const folder = fs.mkdtempSync(path.join(here, "node_modules/.entries-"));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  const { exports } = JSON.parse(fs.readFileSync(path.join(installed, "package.json"), "utf8"));
  const entries = Object.keys(exports).filter((entry) => entry !== "./durable" && !/\.\w+$/.test(entry)).map((entry) => path.posix.join("tidegate", entry));
  const require = createRequire(import.meta.url);
  const FORMATS = { "entries.ts": (entry) => import(entry), "entries.cts": require };
  for (const [file, load] of Object.entries(FORMATS)) {
    const lines = await Promise.all(entries.map(async (entry, i) => {
      const names = Object.fromEntries(Object.keys(await load(entry)).map((name) => [name, 1]));
      return `import * as entry${i} from "${entry}";\nexport const names${i}: Record<keyof typeof entry${i}, 1> = ${JSON.stringify(names)};\n`;
    }));
    fs.writeFileSync(path.join(folder, file), lines.join(""));
  }
  fs.writeFileSync(path.join(folder, "package.json"), '{ "type": "module" }');
  const options = ["--module", "nodenext", "--lib", "es2022,dom,esnext.disposable", "--types", "node"];
  await tsc("typescript", Object.keys(FORMATS).map((file) => path.join(folder, file)), options);
});

test("the README's examples type-check in a strict program", async (t) => {
  const folder = fs.mkdtempSync(path.join(here, "node_modules/.readme-"));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  const readme = fs.readFileSync(path.join(installed, "README.md"), "utf8");
  const programs = [...readme.matchAll(/```ts\n([^]*?)```/g)].map(([, program]) => program);
  assert.ok(programs.length > 6);
  const files = programs.map((program, i) => {
    const file = path.join(folder, `${i}.ts`);
    fs.writeFileSync(file, `import "tidegate";\n${program}`);
    return file;
  });
  // Declarations that a snippet assumes, and packages that are not installed here.
  const options = ["--module", "esnext", "--moduleResolution", "bundler", "--lib", "es2022,dom,esnext.disposable", "--types", "", "--exactOptionalPropertyTypes", "--skipLibCheck"];
  await tsc("typescript", [...files, "readme.d.ts"], options);
});

test("the package contains its licences, and its README has no dead links", () => {
  const file = (name) => path.join(installed, name);
  for (const name of ["LICENSE-MIT", "LICENSE-APACHE"]) assert.ok(fs.statSync(file(name)).size > 1_000);
  const readme = fs.readFileSync(file("README.md"), "utf8");
  const headings = [...readme.matchAll(/^#+ (.*)$/gm)].map(([, heading]) => heading.toLowerCase().replace(/[^\w -]/g, "").replaceAll(" ", "-"));
  for (const [, link] of readme.matchAll(/\]\(([^)]*)\)/g)) {
    if (link.startsWith("#")) assert.ok(headings.includes(link.slice(1)), link);
    else assert.match(link, /^https:/, "only the package's own files are there for its readers");
  }
});

test("the size of a page equals the committed table within two per cent", async () => {
  const rows = await measure();
  const file = path.join(here, "sizes.md");
  if (process.env.BLESS) fs.writeFileSync(file, table(rows));
  const told = fs.readFileSync(file, "utf8");
  for (const { from, gz } of rows) {
    const [, committed] = new RegExp(`\\| ${from} \\| \\d+ \\| (\\d+)`).exec(told) ?? [];
    assert.ok(Math.abs(gz - committed) <= gz / 50, `${from} is ${gz} bytes, and ${committed} in the table: BLESS=1 writes it anew`);
  }
  assert.ok(rows.find(({ from }) => from === "tidegate/pacing").gz <= 4_096);
});

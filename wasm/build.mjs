// Builds dist/ of the npm package: `node build.mjs FOLDER`, where FOLDER contains the output of wasm/bind in
// gate/, full/, lite/, pacing/ and shared/. `cargo xtask build wasm` runs it.

import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import binaryen from "binaryen";
import * as esbuild from "esbuild";

const here = import.meta.dirname;
const bound = path.resolve(process.argv[2] ?? "");
// The files are moved to the package when they are complete, so an interruption leaves it unchanged.
const dist = path.join(bound, "dist");
const tools = path.join(here, "../node_modules/.bin");

// Features of all current engines.
const FEATURES = [
  { flag: "BulkMemory", name: "bulk-memory" },
  { flag: "NontrappingFPToInt", name: "nontrapping-float-to-int" },
  { flag: "SignExt", name: "sign-ext" },
  { flag: "MutableGlobals", name: "mutable-globals" },
  { flag: "Multivalue", name: "multivalue" },
  { flag: "ReferenceTypes", name: "reference-types" },
];
const enable = FEATURES.map(({ name }) => `--enable-${name}`);

fs.rmSync(dist, { recursive: true, force: true });
fs.mkdirSync(dist);

// Rebuilding blocks and branches (`--rereloop`, which needs `--flatten`) saves one per cent.
// The stack grows down to address 0 and never uses all of its 64 kB. So the first kilobyte is unused, as
// `--low-memory-unused` requires.
const modules = { gate: "tidegate", full: "full", lite: "lite", pacing: "pacing", shared: "shared" };
for (const [module, name] of Object.entries(modules)) {
  const file = path.join(dist, `${name}.wasm`);
  fs.writeFileSync(file, prune(fs.readFileSync(path.join(bound, module, `${module}_bg.wasm`))));
  execFileSync(path.join(tools, "wasm-opt"), [
    file, "-o", file, "-Oz", "--converge", "--flatten", "--rereloop", "-Oz", "--converge", "--gufa-optimizing", "-Oz", "--converge",
    "--one-caller-inline-max-function-size=100", "--zero-filled-memory", "--low-memory-unused", ...enable,
    "--strip-debug", "--strip-producers", "--strip-target-features", "--remove-unused-module-elements",
  ]);
}
const plain = toJavaScript(path.join(dist, "tidegate.wasm"));

/** Removes wasm-bindgen's table of JavaScript values, because only numbers are passed. */
function prune(bytes) {
  const module = binaryen.readBinary(bytes);
  const { Features } = binaryen;
  module.setFeatures(FEATURES.reduce((all, { flag }) => all | Features[flag], Features.MVP));
  for (let i = module.getNumExports() - 1; i >= 0; i--) {
    const { name } = binaryen.getExportInfo(module.getExportByIndex(i));
    if (name.startsWith("__")) module.removeExport(name);
  }
  module.runPasses(["remove-unused-module-elements"]);
  const pruned = module.emitBinary();
  module.dispose();
  return pruned;
}

/** Converts the module to JavaScript: a function that creates an instance. */
function toJavaScript(wasm) {
  const lowered = path.join(bound, "lowered.wasm");
  const script = path.join(bound, "plain.js");
  execFileSync(path.join(tools, "wasm-opt"), [
    wasm, "-o", lowered, ...enable, "--llvm-nontrapping-fptoint-lowering", "--llvm-memory-copy-fill-lowering", "--signext-lowering", "-Oz",
  ]);
  execFileSync(path.join(tools, "wasm2js"), [lowered, "-o", script, "-O3", ...enable]);
  const text = fs.readFileSync(script, "utf8");
  // wasm2js creates one instance immediately. This creates it on first use.
  const begin = text.indexOf("var retasmFunc");
  const call = /var retasmFunc = asmFunc\(([\s\S]*?)\);\n/.exec(text.slice(begin));
  if (!call) throw new Error("the output of wasm2js has changed: it has no `var retasmFunc = asmFunc(…);`");
  const whole = `${text.slice(0, begin)}\nexport const instantiate = () => asmFunc(${call[1]});\n`;
  return esbuild.transformSync(whole, { minify: true, target: "es2022" }).code;
}

/** Encodes bytes as a string that compresses well; `unpack` in ts/core.ts decodes it. */
function pack(bytes) {
  const counts = Array.from({ length: 256 }, (_, byte) => ({ byte, count: 0 }));
  for (const byte of bytes) counts[byte].count++;
  const ranked = counts.toSorted((a, b) => b.count - a.count || a.byte - b.byte).map(({ byte }) => byte);
  const ascending = (bytes) => bytes.toSorted((a, b) => a - b);
  const common = ascending(ranked.slice(0, 91));
  const order = [...common, ...ascending(ranked.slice(91))];
  let packed = "";
  for (const byte of bytes) {
    const place = order.indexOf(byte);
    const code = 35 + (place % 91);
    packed += (place < 91 ? "" : place < 182 ? "!" : " ") + String.fromCharCode(code < 92 ? code : code + 1);
  }
  const bits = Array.from({ length: 64 }, () => 0);
  for (const byte of common) bits[byte >> 2] |= 1 << (byte & 3);
  return { common: bits.map((four) => four.toString(16)).join(""), packed };
}

/** What an entry imports as `#core/…` in each runtime: how its module is loaded, and how waiting calls wake. */
const CORES = {
  node: (module) => `${packedCore(module)} export { PumpedLane as Lane } from "./pumped.js";`,
  js: () => `export { instantiate } from "#plain"; export { PumpedLane as Lane } from "./pumped.js";`,
  "js.workers": () => `export { instantiate } from "#plain"; export { LoneLane as Lane } from "./lone.js";`,
  // Cloudflare's runtime compiles wasm only from an import, and others only from one with `?module`.
  workerd: (module) => importedCore(`${modules[module]}.wasm`),
  "edge-light": (module) => importedCore(`${modules[module]}.wasm?module`),
};
const packedCore = (module) => `
  import { compile, instance, permitted } from "./core.js";
  import { common, packed } from "#packed/${module}";
  const load = () => instance(compile(packed, common));
  export const instantiate = ${module === "pacing" ? "load" : "() => permitted(load)"};`;
const importedCore = (file) => `
  import { instance } from "./core.js";
  import module from "./${file}";
  export const instantiate = () => instance(module);
  export { LoneLane as Lane } from "./lone.js";`;

/** Resolves the entries of a runtime, `entry:NAME?RUNTIME`, and what their sources import as `#…`. */
const inlined = {
  name: "inlined",
  setup(build) {
    const resolveDir = path.join(here, "ts");
    build.onResolve({ filter: /^entry:/ }, ({ path }) => ({ path: path.slice("entry:".length), namespace: "entry" }));
    build.onLoad({ filter: /.*/, namespace: "entry" }, ({ path: entry }) => {
      const [name, runtime = "node"] = entry.split("?");
      return { contents: fs.readFileSync(path.join(resolveDir, `${name}.ts`)), loader: "ts", resolveDir, pluginData: runtime };
    });
    build.onResolve({ filter: /^#core\// }, ({ path, pluginData }) => ({ path: `${path.slice("#core/".length)}?${pluginData}`, namespace: "core" }));
    build.onLoad({ filter: /.*/, namespace: "core" }, ({ path }) => {
      const [module, runtime] = path.split("?");
      return { contents: CORES[runtime](module), resolveDir };
    });
    build.onResolve({ filter: /^#(packed\/|plain$)/ }, ({ path }) => ({ path, namespace: "inlined" }));
    build.onLoad({ filter: /^#packed\//, namespace: "inlined" }, ({ path: name }) => {
      const wasm = modules[name.slice("#packed/".length)];
      const { common, packed } = pack(fs.readFileSync(path.join(dist, `${wasm}.wasm`)));
      return { contents: `export const common = "${common}", packed = ${JSON.stringify(packed)};` };
    });
    build.onLoad({ filter: /^#plain$/, namespace: "inlined" }, () => ({ contents: plain }));
    build.onResolve({ filter: /\.wasm(\?module)?$/ }, ({ path }) => ({ path, external: true }));
    build.onResolve({ filter: /^(cloudflare|node):/ }, ({ path }) => ({ path, external: true }));
  },
};

const entry = (name, runtime = "node", out = `${name}.${runtime}`) => ({ in: `entry:${name}?${runtime}`, out: runtime === "node" ? name : out });
const common = {
  absWorkingDir: here, bundle: true, platform: "neutral", target: "es2022", plugins: [inlined], outdir: dist, format: "esm",
  metafile: true, legalComments: "none", charset: "ascii", logLevel: "warning",
};
const gates = ["index", "full", "lite"];
const made = await Promise.all([
  // What gates have in common is in chunks.
  esbuild.build({
    ...common, splitting: true, entryPoints: [
      ...[...gates, "redis", "local", "tabs", "durable"].map((name) => entry(name)),
      ...gates.flatMap((name) => [entry(name, "workerd"), entry(name, "edge-light")]),
      entry("index", "js", "js"), entry("index", "js.workers", "js.workers"),
    ],
  }),
  esbuild.build({ ...common, entryPoints: [entry("pacing"), entry("pacing", "workerd"), entry("pacing", "edge-light"), entry("test"), entry("otel")] }),
]);

// CommonJS is the same files, each converted, so that the entries share what they have in common there too.
const imports = new Map(made.flatMap(({ metafile }) => Object.entries(metafile.outputs)).map(([file, { imports }]) => [path.basename(file), imports]));
const needed = new Set([...gates, "js", "redis", "local", "tabs", "pacing", "test", "otel"].map((name) => `${name}.js`));
for (const name of needed) for (const { path: file, external } of imports.get(name)) if (!external) needed.add(path.basename(file));
for (const name of imports.keys()) {
  const file = path.join(dist, name);
  // An import without names only keeps an order, and nothing has side effects.
  const text = fs.readFileSync(file, "utf8").replace(/^import "\.\/.*\n/gm, "");
  fs.writeFileSync(file, text);
  if (!needed.has(name)) continue;
  const { code } = await esbuild.transform(text.replace(/(from "\.\/.+)\.js";$/gm, '$1.cjs";'), { format: "cjs", platform: "neutral", target: "es2022", charset: "ascii" });
  fs.writeFileSync(file.replace(/\.js$/, ".cjs"), code);
}

// Not by its link: the workspace has several versions, and any of them may have made it.
execFileSync(process.execPath, [path.join(tools, "../typescript/bin/tsc"), "-p", here, "--outDir", dist], { stdio: "inherit" });
for (const file of fs.readdirSync(dist, { recursive: true }).filter((file) => file.endsWith(".d.ts"))) {
  // TypeScript before 5.7 does not know a buffer's type parameter.
  const text = fs.readFileSync(path.join(dist, file), "utf8").replaceAll("Uint8Array<ArrayBuffer>", "Uint8Array");
  fs.writeFileSync(path.join(dist, file), text);
  fs.writeFileSync(path.join(dist, file.replace(/\.d\.ts$/, ".d.cts")), text.replace(/((?:from |import\()"\.\.?\/[^"]+)\.js"/g, '$1.cjs"'));
}
fs.writeFileSync(path.join(dist, "tidegate.wasm.d.ts"), "declare const module: WebAssembly.Module;\nexport default module;\n");

for (const licence of ["LICENSE-APACHE", "LICENSE-MIT"]) fs.copyFileSync(path.join(here, "..", licence), path.join(here, licence));

fs.rmSync(path.join(here, "dist"), { recursive: true, force: true });
fs.renameSync(dist, path.join(here, "dist"));

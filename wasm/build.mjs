// Makes dist/ of the npm package from the bound modules: `node build.mjs FOLDER`, where FOLDER has
// gate/, full/, pacing/ and shared/ as wasm/bind left them. `cargo xtask build wasm` runs it.

import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import binaryen from "binaryen";
import * as esbuild from "esbuild";

const here = import.meta.dirname;
const bound = path.resolve(process.argv[2] ?? "");
// The parts get their place when they are whole: what is interrupted leaves the package as it was.
const dist = path.join(bound, "dist");
const tools = path.join(here, "node_modules/.bin");

// What every engine of the last years has.
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

// Blocks and branches made anew (`--rereloop`, for which `--flatten` prepares) are a hundredth smaller.
// The stack grows down to address 0, and 64 kB of it are never used up: so nobody reads the first
// kilobyte, which is what `--low-memory-unused` says.
const modules = { gate: "tidegate", full: "full", pacing: "pacing", shared: "shared" };
for (const [module, name] of Object.entries(modules)) {
  const file = path.join(dist, `${name}.wasm`);
  fs.writeFileSync(file, prune(fs.readFileSync(path.join(bound, module, `${module}_bg.wasm`))));
  execFileSync(path.join(tools, "wasm-opt"), [
    file, "-o", file, "-Oz", "--converge", "--flatten", "--rereloop", "-Oz", "--converge", "--one-caller-inline-max-function-size=100",
    "--zero-filled-memory", "--low-memory-unused", ...enable,
    "--strip-debug", "--strip-producers", "--strip-target-features", "--remove-unused-module-elements",
  ]);
}
const plain = toJavaScript(path.join(dist, "tidegate.wasm"));

/** Takes out wasm-bindgen's table of JavaScript's values: only numbers cross this border. */
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

/** The module as plain JavaScript: a function that makes an instance. */
function toJavaScript(wasm) {
  const lowered = path.join(bound, "lowered.wasm");
  const script = path.join(bound, "plain.js");
  execFileSync(path.join(tools, "wasm-opt"), [
    wasm, "-o", lowered, ...enable, "--llvm-nontrapping-fptoint-lowering", "--llvm-memory-copy-fill-lowering", "--signext-lowering", "-Oz",
  ]);
  execFileSync(path.join(tools, "wasm2js"), [lowered, "-o", script, "-O3", ...enable]);
  const text = fs.readFileSync(script, "utf8");
  // It makes its one instance where it stands; ours is made on first use.
  const begin = text.indexOf("var retasmFunc");
  const call = /var retasmFunc = asmFunc\(([\s\S]*?)\);\n/.exec(text.slice(begin));
  if (!call) throw new Error("wasm2js has changed what it writes: there is no `var retasmFunc = asmFunc(…);`");
  const plain = `${text.slice(0, begin)}\nexport const instantiate = () => asmFunc(${call[1]});\n`;
  fs.writeFileSync(path.join(bound, "plain.mjs"), plain);
  return plain;
}

/** The bytes as a string that gzip can read; `unpack` in ts/core.ts is its inverse. */
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

/** Puts the modules in the place of `#packed/…` and `#plain/…`. */
const inlined = {
  name: "inlined",
  setup(build) {
    build.onResolve({ filter: /^#(packed|plain)\// }, ({ path }) => ({ path, namespace: "inlined" }));
    build.onLoad({ filter: /^#packed\//, namespace: "inlined" }, ({ path: name }) => {
      const wasm = modules[name.slice("#packed/".length)];
      const { common, packed } = pack(fs.readFileSync(path.join(dist, `${wasm}.wasm`)));
      return { contents: `export const common = "${common}", packed = ${JSON.stringify(packed)};` };
    });
    build.onLoad({ filter: /^#plain\//, namespace: "inlined" }, () => ({ contents: plain }));
    build.onResolve({ filter: /\.wasm(\?module)?$/ }, ({ path }) => ({ path, external: true }));
    build.onResolve({ filter: /^(cloudflare|node):/ }, ({ path }) => ({ path, external: true }));
  },
};

const common = {
  absWorkingDir: here, bundle: true, platform: "neutral", target: "es2022", plugins: [inlined], outdir: dist,
  legalComments: "none", charset: "ascii", logLevel: "warning",
};
const entry = (name) => ({ in: `ts/${name}.ts`, out: name });
const workers = ["workerd", "edge-light", "full.workerd", "full.edge-light", "pacing.workerd", "pacing.edge-light", "js.workers", "durable"];
const everywhere = ["index", "full", "pacing", "js", "redis", "local", "tabs", "test", "otel"];
await esbuild.build({
  ...common, format: "esm", entryPoints: [...everywhere, ...workers].map(entry),
});
await esbuild.build({ ...common, format: "cjs", entryPoints: everywhere.map(entry), outExtension: { ".js": ".cjs" } });

execFileSync(path.join(tools, "tsc"), ["-p", here, "--outDir", dist], { stdio: "inherit" });
for (const file of fs.readdirSync(dist, { recursive: true }).filter((file) => file.endsWith(".d.ts"))) {
  // TypeScript has known an array's buffer since 5.7 only.
  const text = fs.readFileSync(path.join(dist, file), "utf8").replaceAll("Uint8Array<ArrayBuffer>", "Uint8Array");
  fs.writeFileSync(path.join(dist, file), text);
  fs.writeFileSync(path.join(dist, file.replace(/\.d\.ts$/, ".d.cts")), text.replace(/((?:from |import\()"\.\.?\/[^"]+)\.js"/g, '$1.cjs"'));
}
fs.writeFileSync(path.join(dist, "tidegate.wasm.d.ts"), "declare const module: WebAssembly.Module;\nexport default module;\n");

for (const licence of ["LICENSE-APACHE", "LICENSE-MIT"]) fs.copyFileSync(path.join(here, "..", licence), path.join(here, licence));

fs.rmSync(path.join(here, "dist"), { recursive: true, force: true });
fs.renameSync(dist, path.join(here, "dist"));

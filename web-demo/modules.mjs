// Makes the simulator's modules small, and makes plain JavaScript of them for where WebAssembly is
// forbidden: `node modules.mjs FOLDER`, where FOLDER has story.wasm and lab.wasm as cargo left
// them. `cargo xtask build page` runs it.

import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";

const folder = path.resolve(process.argv[2] ?? "");
const tools = path.join(import.meta.dirname, "node_modules/.bin");
const run = (tool, ...args) => execFileSync(path.join(tools, tool), args, { stdio: ["ignore", "inherit", "inherit"] });

// What every engine of the last years has.
const features = ["bulk-memory", "nontrapping-float-to-int", "sign-ext", "mutable-globals", "multivalue", "reference-types"]
  .map((feature) => `--enable-${feature}`);

for (const name of ["story", "lab"]) {
  const [wasm, lowered, script] = ["wasm", "lowered.wasm", "js"].map((end) => path.join(folder, `${name}.${end}`));
  // The stack grows down to address 0, and is never used up: nobody reads the first kilobyte.
  run("wasm-opt", wasm, "-o", wasm, "-Oz", "--converge", "--zero-filled-memory", "--low-memory-unused", ...features,
    "--strip-debug", "--strip-producers", "--strip-target-features");
  run("wasm-opt", wasm, "-o", lowered, ...features,
    "--llvm-nontrapping-fptoint-lowering", "--llvm-memory-copy-fill-lowering", "--signext-lowering", "-O3");
  run("wasm2js", lowered, "-o", script, "-O3", ...features);
  fs.rmSync(lowered);
  fs.writeFileSync(script, onDemand(fs.readFileSync(script, "utf8")));
}

/** wasm2js makes its one instance where it stands; this makes one whenever it is asked. */
function onDemand(text) {
  const begin = text.indexOf("var retasmFunc");
  const call = /var retasmFunc = asmFunc\(([\s\S]*?)\);\n/.exec(text.slice(begin));
  if (!call) throw new Error("wasm2js has changed what it writes: there is no `var retasmFunc = asmFunc(…);`");
  return `${text.slice(0, begin)}\nexport const instantiate = () => asmFunc(${call[1]});\n`;
}

// Shrinks the simulator's modules: `node modules.mjs FOLDER`, where FOLDER contains them as cargo built them: story.raw
// and lab.raw. It writes story.wasm and lab.wasm. `cargo xtask build page` runs it.

import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import binaryen from "binaryen";

const folder = path.resolve(process.argv[2] ?? "");
const optimize = path.join(import.meta.dirname, "node_modules/.bin/wasm-opt");

// Every engine of recent years supports these.
const FEATURES = [
  { flag: "BulkMemory", name: "bulk-memory" },
  { flag: "NontrappingFPToInt", name: "nontrapping-float-to-int" },
  { flag: "SignExt", name: "sign-ext" },
  { flag: "MutableGlobals", name: "mutable-globals" },
  { flag: "Multivalue", name: "multivalue" },
  { flag: "ReferenceTypes", name: "reference-types" },
];
const features = FEATURES.map(({ name }) => `--enable-${name}`);

// A panic traps without a message, so the code that formats messages is not needed.
const PANICS = "panicking|panic_|_fail$|_fail_rt$|unwrap_failed|expect_failed|handle_error|handle_alloc_error|" +
  "slice_index_fail|capacity_overflow|len_mismatch";

// The names of the functions that a module does not use, and how it is optimised. Functions that drop values are kept:
// their names contain those of types. The story's module contains no messages and no custom laws, and visitors wait for
// it: rebuilding blocks and branches (`--rereloop`, which needs `--flatten`) saves a little more. In the laboratory's,
// which is eight times as large, that would save half a percent in five times the time.
const MODULES = {
  story: {
    cut: new RegExp(`^(?!.*drop_in_place).*(${PANICS}|[^a-z]fmt[^a-z]|LawSpec.*policy)`),
    passes: ["-Oz", "--converge", "--flatten", "--rereloop", "-Oz", "--converge"],
  },
  lab: { cut: new RegExp(`^(?!.*drop_in_place).*(${PANICS})`), passes: ["-Oz"] },
};

for (const [name, { cut, passes }] of Object.entries(MODULES)) {
  const [raw, trimmed, wasm] = ["raw", "trimmed", "wasm"].map((end) => path.join(folder, `${name}.${end}`));
  fs.writeFileSync(trimmed, trim(fs.readFileSync(raw), name, cut));
  // The stack grows down to address 0 and never uses its first kilobyte.
  execFileSync(optimize, [
    trimmed, "-o", wasm, ...passes, "--one-caller-inline-max-function-size=100", "--zero-filled-memory", "--low-memory-unused",
    ...features, "--strip-debug", "--strip-producers", "--strip-target-features",
  ], { stdio: ["ignore", "inherit", "inherit"] });
}

/** Makes the functions with such names trap, and removes the source positions of panics. */
function trim(bytes, name, cut) {
  const module = binaryen.readBinary(blank(bytes, name === "story"));
  const { Features } = binaryen;
  module.setFeatures(FEATURES.reduce((all, { flag }) => all | Features[flag], Features.MVP));
  const functions = Array.from({ length: module.getNumFunctions() }, (_, i) => binaryen.getFunctionInfo(module.getFunctionByIndex(i)));
  for (const { name, module: from, params, results } of functions) {
    if (from || !cut.test(name)) continue;
    module.removeFunction(name);
    module.addFunction(name, params, results, [], module.unreachable());
  }
  module.runPasses(["remove-unused-module-elements"]);
  const trimmed = module.emitBinary();
  module.dispose();
  return trimmed;
}

/**
 * Zeroes panic messages and positions, which then compress to nothing and reveal no folders: names
 * of source files, positions in them, and, in a module without messages, all sentences. The linker
 * puts each into its own data segment.
 */
function blank(bytes, sentences) {
  const data = Buffer.from(bytes);
  const segments = segmentsOf(data);
  const silent = new Set();
  for (const { address, part } of segments) {
    const text = part.toString("latin1");
    const printable = text.replace(/[^ -~]/g, "").length > 0.8 * text.length;
    if (printable && (/\.rs\0?$/.test(text) || (sentences && text.includes(" ")))) {
      part.fill(0);
      silent.add(address);
    }
  }
  // A position is the address and length of a file's name, a line and a column.
  for (const { part } of segments) {
    if (part.length === 16 && silent.has(part.readUInt32LE(0))) part.fill(0);
  }
  return data;
}

/** The data segments of a module, each with its address. */
function segmentsOf(bytes) {
  let at = 8;
  const number = () => {
    let value = 0, shift = 0, byte;
    do {
      byte = bytes[at++];
      value += (byte & 127) * 2 ** shift;
      shift += 7;
    } while (byte > 127);
    return value;
  };
  while (at < bytes.length) {
    const [section, length] = [bytes[at++], number()];
    if (section !== 11) {
      at += length;
      continue;
    }
    return Array.from({ length: number() }, () => {
      if (bytes[at++] !== 0 || bytes[at++] !== 0x41) throw new Error("the linker has changed its data format");
      const address = number();
      at++; // end of the address
      const size = number();
      return { address, part: bytes.subarray(at, at += size) };
    });
  }
  return [];
}

// What a page pays for each package: esbuild --bundle --minify --format=esm --target=es2022, gzip -9.

import fs from "node:fs";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

/** What is imported, and why a page would import it. */
const IMPORTS = [
  ["tidegate", "tidegate", "fetch, adaptive and fixed rates, retries, headers, wasm included"],
  ["tidegate/lite", "tidegate", "the same without tokens, bodies and counters"],
  ["tidegate/full", "tidegate", "the first with every law"],
  ["tidegate/js", "tidegate", "the same as the first, without wasm"],
  ["tidegate/pacing", "pacing", "one fixed rate"],
  ["bottleneck", "default", "rate, concurrency, priority"],
  ["bottleneck/light.js", "default", "the same without clustering"],
  ["@smithy/util-retry", "AdaptiveRetryStrategy", "adaptive rate, retries"],
  ["cockatiel", "*", "retries, breaker, bulkhead"],
  ["p-queue", "default", "rate, concurrency, priority"],
  ["p-throttle", "default", "rate"],
  ["p-limit", "default", "concurrency"],
  ["limiter", "*", "rate"],
];

/** The bytes of all files in a folder, and of the package that was installed there. */
function all(folder) {
  const files = fs.readdirSync(folder, { recursive: true, withFileTypes: true }).filter((file) => file.isFile());
  const size = ({ parentPath, name }) => fs.statSync(`${parentPath}/${name}`).size;
  const packed = files.find(({ name }) => name === ".packed.tgz");
  return { min: files.reduce((sum, file) => sum + size(file), 0) - size(packed), gz: size(packed) };
}

export async function measure() {
  const rows = [{ from: "the package", about: "all entries, installed and packed", ...all(`${import.meta.dirname}/node_modules/tidegate`) }];
  for (const [from, name, about] of IMPORTS) {
    const what = name === "*" ? "* as it" : name === "default" ? "it" : `{ ${name} as it }`;
    const { outputFiles } = await build({
      stdin: { contents: `import ${what} from "${from}"; globalThis.it = it;`, resolveDir: import.meta.dirname },
      bundle: true, minify: true, format: "esm", target: "es2022", platform: "neutral", mainFields: ["module", "main"],
      conditions: ["import"], external: ["node:*", "cluster", "crypto", "stream", "buffer", "fs"], write: false, logLevel: "error",
    });
    const { contents } = outputFiles[0];
    rows.push({ from, about, min: contents.length, gz: gzipSync(contents, { level: 9 }).length });
  }
  return rows;
}

export function table(rows) {
  const line = ({ from, about, min, gz }) => `| ${from} | ${min} | ${gz} | ${about} |`;
  return ["| import | minified, bytes | gzipped | |", "|---|--:|--:|---|", ...rows.map(line), ""].join("\n");
}

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

/** The bytes of all files of the installed package, and of the file that it was installed from. */
function all() {
  const files = fs.readdirSync(`${import.meta.dirname}/node_modules/tidegate`, { recursive: true, withFileTypes: true }).filter((file) => file.isFile());
  const size = (file) => fs.statSync(file).size;
  return { min: files.reduce((sum, { parentPath, name }) => sum + size(`${parentPath}/${name}`), 0), gz: size(`${import.meta.dirname}/../../target/npm/packed/tidegate-0.1.0.tgz`) };
}

export async function measure() {
  const rows = [{ from: "the package", about: "all entries, installed and packed", ...all() }];
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

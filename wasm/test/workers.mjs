// Bundles of Cloudflare workers.

import fs from "node:fs";
import { build } from "esbuild";

const dist = new URL("node_modules/tidegate/dist/", import.meta.url);

/** Bundles a worker as wrangler does. */
export async function bundle(contents) {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: import.meta.dirname },
    bundle: true, format: "esm", target: "es2022", conditions: ["workerd"], external: ["*.wasm", "cloudflare:*", "node:*"], write: false,
  });
  const names = fs.readdirSync(dist).filter((name) => name.endsWith(".wasm"));
  const wasm = names.map((name) => ({ type: "CompiledWasm", path: name, contents: fs.readFileSync(new URL(name, dist)) }));
  return [{ type: "ESModule", path: "worker.js", contents: outputFiles[0].text }, ...wasm];
}

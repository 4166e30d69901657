// Bundles for Cloudflare workers and for the edge.

import fs from "node:fs";
import { build } from "esbuild";

const dist = new URL("node_modules/tidegate/dist/", import.meta.url);

/** Replaces `import module from "NAME.wasm?module"`, as frameworks do on the edge, with the contents for a name. */
export const handedOver = (contents) => ({
  name: "handed over",
  setup(build) {
    build.onResolve({ filter: /\.wasm\?module$/ }, ({ path }) => ({ path, namespace: "wasm" }));
    build.onLoad({ filter: /.*/, namespace: "wasm" }, ({ path }) => ({ contents: contents(/\w+(?=\.wasm)/.exec(path)[0]) }));
  },
});

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

// A worker in Rust, with a gate of tidegate-tower, in Cloudflare's runtime.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import test from "node:test";
import { build } from "esbuild";
import { Miniflare } from "miniflare";
import { api } from "./live.mjs";

/** The output of wasm-bindgen: glue and module, without their endings. */
const built = process.env.TIDEGATE_WORKER;
const START = `
  import * as glue from "${built}.js";
  import module from "./module.wasm";
  const { exports } = new WebAssembly.Instance(module, { "./${path.basename(built)}.js": glue });
  glue.__wbg_set_wasm(exports);
  exports.__wbindgen_start();
  export default { fetch: glue.fetch };`;

test("a worker in Rust serves many requests at once within an API's limit", async (t) => {
  const { url, counts } = await api(t, "--hints", "ietf", "--limit", "50");
  const { outputFiles } = await build({
    stdin: { contents: START, resolveDir: import.meta.dirname },
    bundle: true, format: "esm", target: "es2022", external: ["*.wasm", "cloudflare:*"], write: false,
  });
  const miniflare = new Miniflare({
    modules: [
      { type: "ESModule", path: "worker.js", contents: outputFiles[0].text },
      { type: "CompiledWasm", path: "module.wasm", contents: fs.readFileSync(`${built}.wasm`) },
    ],
    bindings: { API: url.replace(/\/$/, "") }, compatibilityDate: "2026-04-01",
  });
  t.after(() => miniflare.dispose());
  const ask = async () => {
    const answer = await miniflare.dispatchFetch("http://worker/");
    return [answer.status, await answer.text()];
  };
  const answers = await Promise.all(Array.from({ length: 80 }, ask));
  assert.deepEqual(answers, Array(80).fill([200, "served\n"]));
  assert.equal((await counts()).served, 80);
});

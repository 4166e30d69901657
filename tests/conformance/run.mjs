// `node run.mjs node|chromium|workerd MODULE`: replays all vectors in that runtime and prints their
// number.

import fs from "node:fs";
import { play } from "./play.mjs";

const TOLD = 20;
const folder = new URL("../vectors/", import.meta.url);
const files = fs.readdirSync(folder).filter((name) => name.endsWith(".jsonl")).sort()
  .map((name) => fs.readFileSync(new URL(name, folder), "utf8"));

const runners = {
  async node(bytes) {
    return play((await WebAssembly.instantiate(bytes)).instance.exports, files);
  },

  async chromium(bytes) {
    const { chromium } = await import("playwright-core");
    const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
    try {
      const page = await browser.newPage();
      return await page.evaluate(`(async (bytes, files) => {
        const { instance } = await WebAssembly.instantiate(Uint8Array.from(atob(bytes), (code) => code.charCodeAt()));
        return (${play})(instance.exports, files);
      })(${JSON.stringify(bytes.toString("base64"))}, ${JSON.stringify(files)})`);
    } finally {
      await browser.close();
    }
  },

  async workerd(bytes) {
    const { Miniflare } = await import("miniflare");
    const source = `
      import module from "./vectors.wasm";
      const play = ${play};
      export default { async fetch(request) {
        return Response.json(play(new WebAssembly.Instance(module).exports, await request.json()));
      } };`;
    const miniflare = new Miniflare({
      compatibilityDate: "2026-04-01",
      modules: [
        { type: "ESModule", path: "worker.js", contents: source },
        { type: "CompiledWasm", path: "vectors.wasm", contents: bytes },
      ],
    });
    try {
      const answer = await miniflare.dispatchFetch("http://worker/", { method: "POST", body: JSON.stringify(files) });
      return await answer.json();
    } finally {
      await miniflare.dispose();
    }
  },
};

const [, , runtime, module] = process.argv;
if (!(runtime in runners) || !module) {
  console.error(`usage: node run.mjs ${Object.keys(runners).join("|")} MODULE`);
  process.exit(2);
}
const { vectors, steps, differences } = await runners[runtime](fs.readFileSync(module));
console.log(`all ${vectors} ${steps} ${differences.length}`);
for (const difference of differences.slice(0, TOLD)) console.error(difference);
process.exitCode = vectors > 0 && differences.length === 0 ? 0 : 1;

import fs from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig, runnerImport } from "vite";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** Draws the figure's first paint with the module that the page loads, and drops the comments. */
const firstPaint = {
  name: "first-paint",
  transformIndexHtml: async (html: string) => {
    if (!html.includes("<!-- first ")) return html;
    const { module: { first } } = await runnerImport<typeof import("./src/figure/first")>(here("src/figure/first.ts"));
    const module = new WebAssembly.Module(fs.readFileSync(here("../target/page/story.wasm")));
    return first(html, new WebAssembly.Instance(module).exports as never).replace(/<!--.*?-->\n?/gs, "");
  },
};

// The page can be served by any host under any path, so it contains no absolute address.
export default defineConfig({
  base: "./",
  worker: { format: "es" },
  plugins: [firstPaint],
  build: {
    rolldownOptions: { input: ["index", "lab", "live"].map((page) => here(`${page}.html`)) },
    target: "es2022",
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
  },
});

import fs from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig, runnerImport, type IndexHtmlTransformContext, type Plugin } from "vite";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

function sourceOf(bundle: IndexHtmlTransformContext["bundle"], name: string): string {
  const file = bundle?.[name];
  return file?.type === "asset" ? String(file.source) : "";
}

/** The first page in one file without comments, with its styles, its icon, and a first paint that the module of its figure draws. */
const firstPage: Plugin = {
  name: "first-page",
  enforce: "pre",
  // Modules that other pages use too are in its script a second time: one file less to wait for.
  resolveId: (source, importer = "") => source.includes("/plot/") && /src\/(main|figure\/\w+)\.ts$/.test(importer)
    ? `${here(`src/${source.replace(/^[./]+/, "")}.ts`)}?first` : undefined,
  transformIndexHtml: async (html, { bundle }) => {
    if (!html.includes("<!-- first ")) return html;
    const { module: { first } } = await runnerImport<typeof import("./src/figure/first")>(here("src/figure/first.ts"));
    const module = new WebAssembly.Module(fs.readFileSync(here("../target/page/story.wasm")));
    return first(html, new WebAssembly.Instance(module).exports as never).replace(/<!--.*?-->\n?/gs, "")
      .replace("./icon.svg", `data:image/svg+xml,${fs.readFileSync(here("public/icon.svg"), "utf8").trim().replaceAll('"', "'").replaceAll("#", "%23")}`)
      .replace(/<link rel="stylesheet"[^>]* href="\.\/(.*?)">/g, (_, name: string) => `<style>${sourceOf(bundle, name)}</style>`);
  },
};

// The page can be served by any host under any path, so it contains no absolute address.
export default defineConfig({
  base: "./",
  worker: { format: "es" },
  plugins: [firstPage],
  build: {
    rolldownOptions: { input: ["index", "lab", "live"].map((page) => here(`${page}.html`)) },
    target: "es2022",
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
  },
});

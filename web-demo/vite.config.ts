import { defineConfig } from "vite";

// The page can be served by any host under any path, so it contains no absolute address.
export default defineConfig({
  base: "./",
  worker: { format: "es" },
  build: {
    target: "es2022",
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
  },
});

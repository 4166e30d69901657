import { defineConfig } from "vite";

// Any host serves the page under any path, so no address in it is absolute.
export default defineConfig({
  base: "./",
  worker: { format: "es" },
  build: {
    target: "es2022",
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
  },
});

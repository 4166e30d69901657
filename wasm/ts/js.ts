/** The entry for pages that forbid wasm: the build makes it from `index.ts`, with the core as plain JavaScript. */

export * from "./index.js";

// The runtimes in which tests run a program, and how each starts one.

import path from "node:path";

const bin = (name) => path.join(import.meta.dirname, "node_modules", name);
const node = (name) => bin(`${name}/bin/node`);

export const RUNTIMES = {
  "Node 22": [node("node-22")],
  "Node 24": [node("node-24")],
  "this Node": [process.execPath],
  Bun: [bin(".bin/bun"), "run"],
  Deno: [bin(".bin/deno"), "run", "--no-config", "--node-modules-dir=manual", "--allow-all"],
};

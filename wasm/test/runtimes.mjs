// The runtimes in which tests run a program, and how each starts one.

import { tool } from "./tools.mjs";

export const RUNTIMES = {
  "Node 22": [tool("node-22/bin/node")],
  "Node 24": [tool("node-24/bin/node")],
  Bun: [tool(".bin/bun"), "run"],
  Deno: [tool(".bin/deno"), "run", "--no-config", "--node-modules-dir=manual", "--allow-all"],
};

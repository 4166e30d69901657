// Takes a fleet of Node processes through everything, and writes what came of it: `node redis-table.mjs
// FILE`, which `cargo xtask bench shared` runs.

import fs from "node:fs";
import { BOUND, LIMIT } from "./fleet-figures.mjs";
import { HEAD, rows } from "./fleet-rows.mjs";
import { LAWS } from "./fleet-story.mjs";
import { run } from "./redis-story.mjs";

const file = process.argv[2];
const closers = [];
process.on("exit", () => closers.forEach((close) => close()));

let told = 0;
const lines = [];
for (const law of Object.keys(LAWS)) {
  const done = await run({ after: (close) => closers.push(close) }, law, true, (stretch, seconds) => {
    console.error(`  ${++told}  ${law}: ${stretch}${seconds ? `, ${seconds} s` : ""}`);
  });
  lines.push("", ...HEAD, ...rows(law, done, BOUND));
}

const page = `# One budget for a fleet of Node processes

Eight processes with a gate of \`tidegate/redis\` share one budget through a redis-server that keeps nothing on disk; half of them use
the package \`redis\`, half \`ioredis\`. Each always has six calls to make. A real HTTP API allows ${LIMIT} calls a second (a bucket of 10)
and tells nothing. All on one machine, in real time: another run differs by a little.

Written by \`cargo xtask bench shared\`.

*the holder*: the process that holds the budget. *util*: served, of what the API had to give. *no round trip*: calls that no message
kept back beyond the limit. *alone*: calls that were sent without a lease. *excess*: the most calls that had been sent above ${LIMIT} a second at any time. The stated
bound of \`fixed\` is ${BOUND}: a call, and the leases that can be in hand, 13/16 s ahead and ½ s after their instant; \`adaptive\` looks for
the limit, and goes past it. *msg*: requests to the holder. *lost*: calls that did not come back served, of processes that did not end;
*twice*: calls that the API served twice; *crashed*: calls that were under way in a process that was killed; *in hand*: the most
leases that were seen in the hands of all.
${lines.join("\n")}
`;
fs.writeFileSync(file, page);
process.stdout.write(page);
process.exit();

// Runs all stretches with a fleet of Node processes, and writes the results: `node redis-table.mjs FILE`.
// `cargo xtask bench shared` runs it.

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

Eight processes with a gate of \`tidegate/redis\` share one budget through a redis-server without persistence.
Half of them use the package \`redis\`, half \`ioredis\`. Each always has six calls to make. A real HTTP API allows ${LIMIT} calls a second
(a bucket of 10) and sends no hints. Everything runs on one machine in real time, so results vary slightly between runs.

Written by \`cargo xtask bench shared\`.

*the holder*: the process that holds the budget. *util*: calls served, as a share of the API's limit. *no round trip*: calls that no
message delayed in addition to the limit. *alone*: calls that were sent without a lease. *excess*: the most calls that were sent in
excess of ${LIMIT} a second at any time. The bound of \`fixed\` is ${BOUND}: one call, plus the leases that can be held, from 13/16 s before to
½ s after they are due. \`adaptive\` exceeds the limit while it searches for it. *msg*: requests to the holder. *lost*: calls that were
not served, of processes that did not end. *twice*: calls that the API served twice. *crashed*: calls in flight in a killed process.
*held*: the most leases that all processes held at once.
${lines.join("\n")}
`;
fs.writeFileSync(file, page);
process.stdout.write(page);
process.exit();

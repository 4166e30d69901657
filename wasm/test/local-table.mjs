// Runs all stretches with a fleet of processes on one machine and with one of tabs, and writes the results:
// `node local-table.mjs FILE`. `cargo xtask bench shared` runs it.

import fs from "node:fs";
import { BOUND, LIMIT } from "./fleet-figures.mjs";
import { HEAD, rows } from "./fleet-rows.mjs";
import { LAWS } from "./fleet-story.mjs";
import { run as processes } from "./local-story.mjs";
import { TabFleet } from "./tabs-fleet.mjs";
import { run as tabs } from "./tabs-story.mjs";

const file = process.argv[2];
const closers = [];
const test = { after: (close) => closers.push(close) };
process.on("exit", () => closers.forEach((close) => close()));

/** The bound of six tabs that ask every 0.6 s: a call, and the leases that can be held. */
const TAB_BOUND = 1 + TabFleet.limit * (0.6 * 1.5 + 0.0625 + 0.6);

let told = 0;
/** The rows of a fleet, law by law. */
async function table(name, run, bound) {
  const lines = [];
  for (const law of Object.keys(LAWS)) {
    const done = await run(test, law, true, (stretch, seconds) => {
      console.error(`  ${++told}  ${name}, ${law}: ${stretch}${seconds ? `, ${seconds} s` : ""}`);
    });
    lines.push("", ...HEAD, ...rows(law, done, bound));
  }
  return lines.join("\n");
}

const ofProcesses = await table("processes", processes, BOUND);
const ofTabs = await table("tabs", tabs, TAB_BOUND);

const page = `# One budget for the processes of one machine, and for the tabs of one browser

Eight processes share one budget through a socket: four in Node with a gate of \`tidegate/local\`, four in Rust with one of
\`tidegate_tower::local\`. Each always has six calls to make. A real HTTP API allows ${LIMIT} calls a second (a bucket of 10) and
sends no hints. Everything runs on one machine in real time, so results vary slightly between runs.

Written by \`cargo xtask bench shared\`.

*the holder*: the process that holds the budget. *util*: calls served, as a share of the API's limit. *no round trip*: calls that no
message delayed in addition to the limit. *alone*: calls that were sent without a lease. *excess*: the most calls that were sent in
excess of ${LIMIT} a second at any time. The bound of \`fixed\` is ${BOUND}: one call, plus the leases that can be held, from 13/16 s before to
½ s after they are due. \`adaptive\` exceeds the limit while it searches for it. *msg*: requests to the holder. *lost*: calls that were
not served, of processes that did not end. *twice*: calls that the API served twice. *crashed*: calls in flight in a killed process.
*held*: the most leases that all processes held at once.

## Processes
${ofProcesses}

## Tabs

Six tabs of one window of Chromium, five of them hidden, share one budget with \`tidegate/tabs\`. The API allows ${TabFleet.limit} calls a second. The
browser freezes a tab like one that has been hidden for a while. *jain* covers tabs that are neither frozen nor closed. The
bound of \`fixed\` is ${TAB_BOUND.toFixed(1)}.
${ofTabs}
`;
fs.writeFileSync(file, page);
process.stdout.write(page);
process.exit();

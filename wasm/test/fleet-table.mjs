// Runs all scenarios with a fleet of Cloudflare workers, and writes the results: `node fleet-table.mjs FILE`.
// `cargo xtask bench shared` runs it.

import fs from "node:fs";
import { BOUND, LIMIT } from "./fleet-figures.mjs";
import { HEAD, rows } from "./fleet-rows.mjs";
import { LAWS, run, SCENARIOS } from "./fleet-scenarios.mjs";

/** Scenarios with faults use `fixed`. A fleet that shares no budget has to find the limit. */
const laws = { eight: Object.keys(LAWS), apart: ["adaptive"] };
const RUNS = Object.keys(SCENARIOS).flatMap((name) => (laws[name] ?? ["fixed"]).map((law) => ({ name, law })));

const file = process.argv[2];
const closers = [];
process.on("exit", () => closers.forEach((close) => close()));

let told = 0;
const lines = [];
const ready = [];
for (const { name, law } of RUNS) {
  const done = await run({ after: (close) => closers.push(close) }, name, law, true, (stretch, seconds) => {
    console.error(`  ${++told}  ${name}, ${law}: ${stretch}${seconds ? `, ${seconds} s` : ""}`);
  });
  if (RUNS.find((run) => run.name === name).law === law) {
    lines.push("", `## ${name}`, "", SCENARIOS[name].about[0].toUpperCase() + SCENARIOS[name].about.slice(1) + ".", "");
    lines.push(...HEAD);
  }
  lines.push(...rows(law, done, BOUND));
  if (SCENARIOS[name].fleet?.shares ?? true) ready.push(`${name}, ${law}: ${done.stretches.map((is) => `${is.stretch} ${(is.ready * 100).toFixed(1)} %`).join("; ")}`);
}

const page = `# One budget for a fleet of Cloudflare workers

Eight isolates of \`tidegate/durable\` in Cloudflare's runtime lease from one Durable Object, which stores its state on disk. A real
HTTP API allows ${LIMIT} calls a second (a bucket of 10) and sends no hints. Where something is killed, the object has a separate process, and
the isolates have two. Everything runs on one machine in real time, so results vary slightly between runs.

Written by \`cargo xtask bench shared\`.

*util*: calls served, as a share of the API's limit. *no round trip*: calls that no message delayed in addition to the limit: their
lease was available, or was not due yet when it arrived. The strict share is at the end. *alone*: calls that were sent without a lease.
*excess*: the most calls that were sent in excess of ${LIMIT} a second at any time. The bound of \`fixed\` is ${BOUND}: one call, plus the leases
that can be held, from 13/16 s before to ½ s after they are due. \`adaptive\` exceeds the limit while it searches for it. *msg*: requests
to the object. *lost*: calls that were not served, of isolates that did not crash. *twice*: calls that the API served twice. *held*: the
most leases that all isolates held at once.
${lines.join("\n")}

## Available leases

The share of calls that found a lease, due or not, when they were first in the queue, so that no request was necessary:

${ready.map((line) => `- ${line}`).join("\n")}
`;
fs.writeFileSync(file, page);
process.stdout.write(page);
process.exit();

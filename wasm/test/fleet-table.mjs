// Puts a fleet of Cloudflare workers through everything, and writes what came of it:
// `node fleet-table.mjs FILE`, which `cargo xtask bench shared` runs.

import fs from "node:fs";
import { BOUND, LIMIT } from "./fleet-figures.mjs";
import { HEAD, rows } from "./fleet-rows.mjs";
import { LAWS, run, SCENARIOS } from "./fleet-scenarios.mjs";

/** Faults show by the law that keeps a known rate; who shares nothing has to find it. */
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

Eight isolates of \`tidegate/durable\` in Cloudflare's runtime lease from one Durable Object, which stores what it knows on disk; a real
HTTP API allows ${LIMIT} calls a second (a bucket of 10) and tells nothing. Where something is killed, the object has a process of its own, and
the isolates have two. All on one machine, in real time: another run differs by a little.

Written by \`cargo xtask bench shared\`.

*util*: served, of what the API had to give. *no round trip*: calls that no message kept back beyond the limit: their lease
was in hand, or was not due yet when the answer came that brought it; the strict share stands at the end. *alone*: calls that were sent
without a lease. *excess*: the most calls that had been sent above ${LIMIT} a second at any time. The stated bound of \`fixed\` is ${BOUND}: a
call, and the leases that can be in hand, 13/16 s ahead and ½ s after their instant; \`adaptive\` looks for the limit, and goes past it.
*msg*: requests to the object. *lost*: calls that did not come back served, of isolates that did not crash; *twice*: calls that the API
served twice; *in hand*: the most leases that were seen in the hands of all isolates.
${lines.join("\n")}

## A lease in hand

Of all calls, those that found a lease in hand when they were first in line, due or not, so that nobody had to ask for them:

${ready.map((line) => `- ${line}`).join("\n")}
`;
fs.writeFileSync(file, page);
process.stdout.write(page);
process.exit();

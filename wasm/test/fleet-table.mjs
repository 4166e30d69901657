// Runs all scenarios of some fleets, and writes the results: `node fleet-table.mjs workerd|redis|local FILE`.
// `cargo xtask bench shared` runs it.

import fs from "node:fs";
import { BOUND, LAWS, LIMIT, run } from "./fleet.mjs";
import { ALL, TabFleet, WORKERS } from "./fleets.mjs";

const [kind, file] = process.argv.slice(2);
const closers = [];
process.on("exit", () => closers.forEach((close) => close()));

const HEAD = [
  "| law | stretch | util | throttled | jain | no round trip | alone | excess | msg/s | msg/call | must |",
  "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|---|",
];

const percent = (part, digits) => `${(part * 100).toFixed(digits)} %`;

/** The rows of a fleet with a law. `bound` is the maximum excess of `fixed`. */
function rows(law, { stretches, inHand, lost, crashed, twice }, bound) {
  const lines = stretches.map((is) => {
    const must = is.must && (misses(is) ?? "met");
    const more = law === "fixed" && is.excess > bound ? "**excess**" : undefined;
    const shared = is.asked ? [percent(is.local, 1), percent(is.alone, 1)] : ["", ""];
    const messages = is.asked ? [is.asked.toFixed(1), is.perCall.toFixed(2)] : ["", ""];
    const cells = [
      law, `${is.stretch}, ${is.seconds.toFixed(0)} s`, percent(is.utilisation, 1), percent(is.throttled, 2), is.jain.toFixed(4),
      ...shared, is.excess.toFixed(1), ...messages, [must, more].filter(Boolean).join(", "),
    ];
    return `| ${cells.join(" | ")} |`;
  });
  return [...lines, `| ${law} | in all | lost ${lost} | twice ${twice} | crashed ${crashed} | | | held ${inHand} | | | ${lost + twice ? "**not met**" : "met"} |`];
}

function misses({ must, ...is }) {
  const wrong = Object.entries(must).filter(([name, bar]) => (name === "throttled" ? is[name] > bar : is[name] < bar));
  return wrong.length ? `**not met**: ${wrong.map(([name, bar]) => `${name} ${bar}`).join(", ")}` : undefined;
}

let told = 0;
/** For each run of a fleet, how many calls found a lease. */
const ready = [];

async function table(name, laws = Object.keys(LAWS)) {
  const lines = [];
  for (const law of laws) {
    const done = await run({ after: (close) => closers.push(close) }, ALL[name], law, true, (stretch, seconds) => {
      console.error(`  ${++told}  ${name}, ${law}: ${stretch}${seconds ? `, ${seconds} s` : ""}`);
    });
    ready.push(`- ${name}, ${law}: ${done.stretches.map((is) => `${is.stretch} ${percent(is.ready, 1)}`).join("; ")}`);
    lines.push(...rows(law, done, ALL[name].bound));
  }
  return [...HEAD, ...lines].join("\n");
}

async function tables(name) {
  const all = [];
  for (const law of Object.keys(LAWS)) all.push(await table(name, [law]));
  return all.join("\n\n");
}

/** Scenarios of workers with faults use `fixed`. A fleet that shares no budget has to find the limit. */
async function workers() {
  const laws = { eight: Object.keys(LAWS), apart: ["adaptive"] };
  const all = [];
  for (const [name, { about }] of Object.entries(WORKERS)) {
    all.push(`## ${name}\n\n${about[0].toUpperCase()}${about.slice(1)}.\n\n${await table(name, laws[name] ?? ["fixed"])}`);
  }
  return all.join("\n\n");
}

const WRITTEN = "Written by `cargo xtask bench shared`.";

const LEGEND = `*the holder*: the process that holds the budget. *util*: calls served, as a share of the API's limit. *no round trip*: calls that no
message delayed in addition to the limit. *alone*: calls that were sent without a lease. *excess*: the most calls that were sent in
excess of ${LIMIT} a second at any time. The bound of \`fixed\` is ${BOUND}: one call, plus the leases that can be held, from 13/16 s before to
½ s after they are due. \`adaptive\` exceeds the limit while it searches for it. *msg*: requests to the holder. *lost*: calls that were
not served, of processes that did not end. *twice*: calls that the API served twice. *crashed*: calls in flight in a killed process.
*held*: the most leases that all processes held at once.`;

const PAGES = {
  workerd: async () => `# One budget for a fleet of Cloudflare workers

Eight isolates of \`tidegate/durable\` in Cloudflare's runtime lease from one Durable Object, which stores its state on disk. A real
HTTP API allows ${LIMIT} calls a second (a bucket of 10) and sends no hints. Where something is killed, the object has a separate process, and
the isolates have two. Everything runs on one machine in real time, so results vary slightly between runs.

${WRITTEN}

*util*: calls served, as a share of the API's limit. *no round trip*: calls that no message delayed in addition to the limit: their
lease was available, or was not due yet when it arrived. The strict share is at the end. *alone*: calls that were sent without a lease.
*excess*: the most calls that were sent in excess of ${LIMIT} a second at any time. The bound of \`fixed\` is ${BOUND}: one call, plus the leases
that can be held, from 13/16 s before to ½ s after they are due. \`adaptive\` exceeds the limit while it searches for it. *msg*: requests
to the object. *lost*: calls that were not served, of isolates that did not crash. *twice*: calls that the API served twice. *held*: the
most leases that all isolates held at once.

${await workers()}

## Available leases

The share of calls that found a lease, due or not, when they were first in the queue, so that no request was necessary:

${ready.filter((line) => !line.startsWith("- apart")).join("\n")}
`,
  redis: async () => `# One budget for a fleet of Node processes

Eight processes with a gate of \`tidegate/redis\` share one budget through a redis-server without persistence.
Half of them use the package \`redis\`, half \`ioredis\`. Each always has six calls to make. A real HTTP API allows ${LIMIT} calls a second
(a bucket of 10) and sends no hints. Everything runs on one machine in real time, so results vary slightly between runs.

${WRITTEN}

${LEGEND}

${await tables("redis")}
`,
  local: async () => `# One budget for the processes of one machine, and for the tabs of one browser

Eight processes share one budget through a socket: four in Node with a gate of \`tidegate/local\`, four in Rust with one of
\`tidegate_tower::local\`. Each always has six calls to make. A real HTTP API allows ${LIMIT} calls a second (a bucket of 10) and
sends no hints. Everything runs on one machine in real time, so results vary slightly between runs.

${WRITTEN}

${LEGEND}

## Processes

${await tables("local")}

## Tabs

Six tabs of one window of Chromium, five of them hidden, share one budget with \`tidegate/tabs\`. The API allows ${TabFleet.limit} calls a second. The
browser freezes a tab like one that has been hidden for a while. *jain* covers tabs that are neither frozen nor closed. The
bound of \`fixed\` is ${ALL.tabs.bound.toFixed(1)}.

${await tables("tabs")}
`,
};

const page = await PAGES[kind]();
fs.writeFileSync(file, page);
process.stdout.write(page);
process.exit();

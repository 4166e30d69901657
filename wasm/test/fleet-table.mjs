// Puts a fleet of Cloudflare workers through everything, and writes what came of it:
// `node fleet-table.mjs FILE`, which `cargo xtask bench shared` runs.

import fs from "node:fs";
import { BOUND, LAWS, run, SCENARIOS } from "./fleet-scenarios.mjs";
import { LIMIT } from "./fleet-figures.mjs";

/** Faults show by the law that keeps a known rate; who shares nothing has to find it. */
const laws = { eight: Object.keys(LAWS), apart: ["adaptive"] };
const RUNS = Object.keys(SCENARIOS).flatMap((name) => (laws[name] ?? ["fixed"]).map((law) => ({ name, law })));

const file = process.argv[2];
const closers = [];
process.on("exit", () => closers.forEach((close) => close()));

const percent = (part, digits) => `${(part * 100).toFixed(digits)} %`;
let told = 0;
const lines = [];
for (const { name, law } of RUNS) {
  const done = await run({ after: (close) => closers.push(close) }, name, law, true, (stretch, seconds) => {
    console.error(`  ${++told}  ${name}, ${law}: ${stretch}${seconds ? `, ${seconds} s` : ""}`);
  });
  const { stretches, inHand, lost, crashed, twice } = done;
  if (RUNS.find((run) => run.name === name).law === law) {
    lines.push("", `## ${name}`, "", SCENARIOS[name].about[0].toUpperCase() + SCENARIOS[name].about.slice(1) + ".", "");
    lines.push("| law | stretch | util | throttled | jain | no round trip | alone | excess | msg/s | msg/call | must |");
    lines.push("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|---|");
  }
  for (const is of stretches) {
    const must = is.must && (misses(is) ?? "met");
    const bound = law === "fixed" && is.excess > BOUND ? "**excess**" : undefined;
    const shared = is.asked ? [percent(is.local, 1), percent(is.alone, 1)] : ["", ""];
    const messages = is.asked ? [is.asked.toFixed(1), is.perCall.toFixed(2)] : ["", ""];
    const cells = [
      law, `${is.stretch}, ${is.seconds.toFixed(0)} s`, percent(is.utilisation, 1), percent(is.throttled, 2), is.jain.toFixed(4),
      ...shared, is.excess.toFixed(1), ...messages, [must, bound].filter(Boolean).join(", "),
    ];
    lines.push(`| ${cells.join(" | ")} |`);
  }
  lines.push(`| ${law} | in all | lost ${lost} | twice ${twice} | crashed ${crashed} | | | in hand ${inHand} | | | ${lost + twice ? "**not met**" : "met"} |`);
}

function misses({ must, ...is }) {
  const wrong = Object.entries(must).filter(([name, bar]) => (name === "throttled" ? is[name] > bar : is[name] < bar));
  return wrong.length ? `**not met**: ${wrong.map(([name, bar]) => `${name} ${bar}`).join(", ")}` : undefined;
}

const page = `# One budget for a fleet of Cloudflare workers

Eight isolates of \`tidegate/durable\` in Cloudflare's runtime lease from one Durable Object, which stores what it knows on disk; a real
HTTP API allows ${LIMIT} calls a second (a bucket of 10) and tells nothing. Where something is killed, the object has a process of its own, and
the isolates have two. All on one machine, in real time: another run differs by a little.

Written by \`cargo xtask bench shared\`.

*util*: served, of what the API had to give. *no round trip*: calls that no message to the object kept back. *alone*: calls that left
without a lease. *excess*: the most calls that had left above ${LIMIT} a second at any time. The stated bound of \`fixed\` is ${BOUND}: a
call, and the departures that can be in hand, ¾ s ahead and ½ s after their instant; \`adaptive\` looks for the limit, and goes past it.
*msg*: requests to the object. *lost*: calls that did not come back served, of isolates that did not crash; *twice*: calls that the API
served twice; *in hand*: the most departures that were seen in the hands of all isolates.
${lines.join("\n")}
`;
fs.writeFileSync(file, page);
process.stdout.write(page);
process.exit();

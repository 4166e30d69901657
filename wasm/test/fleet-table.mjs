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

/** The tables of each page, by the names that its text has for them. */
const TABLES = {
  workerd: async () => {
    const shared = await workers();
    return { workers: shared, ready: ready.filter((line) => !line.startsWith("- apart")).join("\n") };
  },
  redis: async () => ({ processes: await tables("redis") }),
  local: async () => ({ processes: await tables("local"), tabs: await tables("tabs"), tabLimit: TabFleet.limit, tabBound: ALL.tabs.bound.toFixed(1) }),
};

/** The texts of the pages, and what all of them say. */
const [, ...texts] = fs.readFileSync(new URL("fleet-table.txt", import.meta.url), "utf8").split(/^=== (\w+)\n/m);
const text = (name) => texts[texts.indexOf(name) + 1];
const values = { limit: LIMIT, bound: BOUND, ...(await TABLES[kind]()) };
const page = text(kind).replace("{all}", text("all").trim()).replace(/\{(\w+)\}/g, (_, name) => values[name]);
fs.writeFileSync(file, page);
process.stdout.write(page);
process.exit();

// Runs all scenarios of all fleets, or of some: `node fleet-table.mjs FOLDER [workerd|redis|local]…`. Writes a page for each
// kind into the folder. `cargo xtask bench shared` runs it.

import fs from "node:fs";
import path from "node:path";
import { BOUND, LAWS, LIMIT, run } from "./fleet.mjs";
import { ALL, TabFleet, WORKERS } from "./fleets.mjs";

const [folder, ...asked] = process.argv.slice(2);
/** The pages, and the scenarios of each. */
const PAGES = { redis: ["redis"], local: ["local", "tabs"], workerd: Object.keys(WORKERS) };
const kinds = asked.length ? asked : Object.keys(PAGES);

/** How many fleets run at a time. They wait for their servers most of the time. */
const LANES = 5;

const percent = (part, digits) => `${(part * 100).toFixed(digits)} %`;

/** The rows of a fleet with a law. `bound` is the maximum excess of `fixed`. */
function rows(law, { stretches, inHand, lost, crashed, twice }, bound) {
  const lines = stretches.map((is) => {
    const wrong = Object.entries(is.must ?? {}).filter(([name, bar]) => (name === "throttled" ? is[name] > bar : is[name] < bar));
    const must = is.must && (wrong.length ? `**not met**: ${wrong.map(([name, bar]) => `${name} ${bar}`).join(", ")}` : "met");
    const more = law === "fixed" && is.excess > bound ? "**excess**" : undefined;
    const shared = (text) => (is.asked ? text : "");
    const cells = [
      law, `${is.stretch}, ${is.seconds} s`, percent(is.utilisation, 1), percent(is.throttled, 2), is.jain.toFixed(4),
      shared(percent(is.local, 1)), shared(percent(is.alone, 1)), is.excess.toFixed(1), shared(is.asked.toFixed(1)), shared(is.perCall.toFixed(2)), [must, more].filter(Boolean).join(", "),
    ];
    return `| ${cells.join(" | ")} |`;
  });
  return [
    "| law | stretch | util | throttled | jain | no round trip | alone | excess | msg/s | msg/call | must |",
    "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|---|",
    ...lines,
    `| ${law} | in all | lost ${lost} | twice ${twice} | crashed ${crashed} | | | held ${inHand} | | | ${lost + twice ? "**not met**" : "met"} |`,
  ].join("\n");
}

const closers = [];
process.on("exit", () => closers.forEach((close) => close()));

/** The results, by scenario and law. */
const done = {};
const waiting = kinds.flatMap((kind) => PAGES[kind]).flatMap((name) => ALL[name].laws.map((law) => ({ name, law })));
async function lane() {
  for (let next; (next = waiting.shift()); ) {
    const { name, law } = next;
    const step = (stretch, seconds) => console.error(`  ${name}, ${law}: ${stretch}${seconds ? `, ${seconds} s` : ""}`);
    (done[name] ??= {})[law] = await run({ after: (close) => closers.push(close) }, ALL[name], law, true, step);
  }
}
await Promise.all(Array.from({ length: LANES }, lane));

/** A scenario's laws in the order of the page. */
const table = (name) => Object.keys(LAWS).filter((law) => done[name][law]).map((law) => rows(law, done[name][law], ALL[name].bound)).join("\n\n");

/** What the text of each page has names for. */
const VALUES = {
  redis: () => ({ processes: table("redis") }),
  local: () => ({ processes: table("local"), tabs: table("tabs"), tabLimit: TabFleet.limit, tabBound: ALL.tabs.bound.toFixed(1) }),
  workerd: () => ({ workers: PAGES.workerd.map((name) => `## ${name}\n\n${WORKERS[name].about}.\n\n${table(name)}`).join("\n\n") }),
};
const [, ...texts] = fs.readFileSync(new URL("fleet-table.txt", import.meta.url), "utf8").split(/^=== (\w+)\n/m);
const text = (name) => texts[texts.indexOf(name) + 1];
for (const kind of kinds) {
  const values = { limit: LIMIT, bound: BOUND, lanes: LANES, ...VALUES[kind]() };
  const page = text(kind).replace("{all}", text("all").trim()).replace(/\{(\w+)\}/g, (_, name) => values[name]);
  fs.writeFileSync(path.join(folder, `shared-${kind}.md`), page);
  process.stdout.write(page);
}
process.exit();

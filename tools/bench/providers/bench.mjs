// Compares the npm package with others, against servers that limit like real providers. `cargo
// xtask bench providers` runs this; `--help` lists the options.

import fs from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { CLIENTS } from "./clients.mjs";
import { middle, page } from "./page.mjs";
import { PROVIDERS } from "./providers.mjs";
import { limit, run, stop } from "./run.mjs";

const HELP = `Run the npm package and other packages against servers that limit like real providers: ten minutes a run

Usage: cargo xtask bench providers [OPTIONS]

Options:
      --runs <N>     Number of runs; the figures are medians [default: 1]
      --only <TEXT>  Only rows whose server, load or client contains this text; may be repeated. Writes no page
      --fast         A quarter of the calls. Writes no page
      --json         Print rows and write no page
  -h, --help         Print help`;

const { values } = parseArgs({
  options: {
    runs: { type: "string" }, only: { type: "string", multiple: true, default: [] }, fast: { type: "boolean", default: false },
    json: { type: "boolean", default: false }, help: { type: "boolean", short: "h" },
  },
});
if (values.help) {
  console.log(HELP);
  process.exit();
}
const runs = Number(values.runs ?? 1);
if (!(runs >= 1) || runs % 1) {
  console.error(`providers: --runs is ${values.runs}; it must be a whole number of at least 1.`);
  process.exit(2);
}

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => {
    stop();
    process.exit(130);
  });
}
process.on("exit", stop);

const RIVALS = ["p-retry", "ky", "bottleneck", "p-queue", "smithy adaptive", "octokit"];
const PLAIN = ["tidegate", "plain fetch"];

/**
 * The phases: loads, their clients, how many rows run at once, and the milliseconds between the
 * starts of two rows, because three hundred new connections occupy a processor for a while.
 */
const PHASES = [
  { loads: ["300 at once", "300 at once, three processes"], clients: ["tidegate", "tidegate, retry: true", ...RIVALS], most: 48, apart: 1_000 },
  { loads: ["cold start"], clients: ["tidegate", "tidegate, retry: true", ...RIVALS], most: 24, apart: 200 },
  { loads: ["trickle"], clients: PLAIN, most: 24, apart: 100 },
  { loads: ["sequential job"], clients: PLAIN, most: 4, apart: 0 },
];

/** Whether a client supports this provider. */
const fits = (client, { octokit, method }) => (client === "octokit" ? octokit : client !== "tidegate, retry: true" || method === "POST");

function rowsOf({ loads, clients }) {
  const rows = [];
  for (const provider of PROVIDERS) {
    for (const load of loads) {
      for (let run = 1; run <= runs; run++) {
        for (const client of clients) rows.push({ provider, load, client, run, fast: values.fast });
      }
    }
  }
  const chosen = rows.filter(({ provider, load, client }) => fits(client, provider) && values.only.every((text) => [provider.name, load, client].some((name) => name.includes(text))));
  // The rows with the longest limits start first. The others keep their order.
  const longest = ({ provider, load, fast }) => Math.round(limit(provider, load, fast) / 30_000);
  return chosen.sort((a, b) => longest(b) - longest(a));
}

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

/**
 * The share of the time since the last call during which a program on this machine waited for a
 * processor.
 */
function busy() {
  try {
    return Number(/some .*total=(\d+)/.exec(fs.readFileSync("/proc/pressure/cpu", "utf8"))[1]) / 1_000;
  } catch {
    return undefined;
  }
}

const phases = PHASES.map((phase) => ({ ...phase, rows: rowsOf(phase) }));
const all = phases.reduce((sum, { rows }) => sum + rows.length, 0);
if (!all) {
  console.error(`providers: no row matches ${values.only.join(" and ")}. Servers: ${PROVIDERS.map(({ name }) => name).join("; ")}. Clients: ${Object.keys(CLIENTS).join("; ")}.`);
  process.exit(2);
}
const [before, since] = [busy(), performance.now()];
const done = [];
for (const { rows, most, apart } of phases) {
  const running = new Set();
  for (const row of rows) {
    while (running.size >= most) await Promise.race(running);
    const one = run(row).then((is) => {
      running.delete(one);
      done.push({ run: row.run, ...is });
      const share = (100 * is.throttled) / is.offered;
      console.error(`  ${done.length}/${all}  ${is.server}, ${is.load}, ${is.client}: ${is.seconds?.toFixed(1)} s, ${share.toFixed(0)} % throttled, ${is.lost} lost`);
    });
    running.add(one);
    await sleep(apart);
  }
  await Promise.all(running);
}

const share = before === undefined ? undefined : (busy() - before) / (performance.now() - since);
console.error(`  ${Math.round((performance.now() - since) / 60_000)} minutes; programs waited for a processor ${(100 * share).toFixed(0)} % of the time`);
if (values.json) {
  console.log(JSON.stringify(done, null, 1));
} else {
  const rows = middle(done);
  const text = page(rows, { runs, share });
  if (values.fast || values.only.length) {
    console.log(text);
  } else {
    const folder = path.resolve(import.meta.dirname, "../../../tests/golden");
    fs.writeFileSync(path.join(folder, "providers.md"), text);
    console.error("written to tests/golden/providers.md");
  }
}
process.exit();

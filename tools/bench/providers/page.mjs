// The page: a table for each load, the targets, and the servers.

import fs from "node:fs";
import { PROVIDERS } from "./providers.mjs";
import { LATENCY } from "./server.mjs";

const median = (numbers) => numbers.filter((number) => number !== undefined).sort((a, b) => a - b)[Math.floor((numbers.length - 1) / 2)];

/** Combines the rows of all runs: medians, but the maximum of lost and duplicate calls. */
export function middle(rows) {
  const groups = new Map();
  for (const row of rows) {
    const key = [row.server, row.load, row.client].join("\n");
    groups.set(key, [...(groups.get(key) ?? []), row]);
  }
  return [...groups.values()].map((same) => {
    const of = (name) => same.map((row) => row[name]);
    const medians = ["seconds", "ideal", "first", "said", "soonest", "latest"].map((name) => [name, median(of(name))]);
    return {
      server: same[0].server, load: same[0].load, client: same[0].client, calls: same[0].calls, ...Object.fromEntries(medians),
      times: median(same.map(({ seconds, ideal }) => seconds / ideal)), throttled: median(same.map((row) => row.throttled / row.offered)), lost: Math.max(...of("lost")), twice: Math.max(...of("twice")),
      stopped: same.some((row) => row.stopped),
    };
  });
}

const percent = (share) => `${(share * 100).toFixed(share < 0.0995 && share > 0 ? 1 : 0)} %`;
const told = ({ tells }) => tells !== "nothing";

/** The result of a row: seconds, throttled, lost. */
function cell(row, seconds = row?.seconds) {
  if (!row) return "";
  const more = row.twice ? `, ${row.twice} twice` : "";
  return `${row.stopped ? "> " : ""}${seconds?.toFixed(1) ?? "never"} / ${percent(row.throttled)} / ${row.lost}${more}`;
}

const line = (cells) => `| ${cells.join(" | ")} |`;
const head = (cells, left) => [line(cells), `|${cells.map((_, at) => (at < left ? "---" : "--:")).join("|")}|`];

/** A load that lost calls is not complete. */
const whole = (times) => (row, plain) => (row.lost ? Infinity : times(row, plain));

/** The targets of tidegate: the load, the figure and its maximum. */
const BARS = [
  { load: "sequential job", what: "seconds, at most 1.05 times plain fetch's", is: whole((row, plain) => row.seconds / plain.seconds), most: () => 1.05 },
  { load: "trickle", what: "seconds, at most 1.05 times plain fetch's", is: whole((row, plain) => row.seconds / plain.seconds), most: () => 1.05 },
  { load: "300 at once", what: "seconds, at most 1.25 times the ideal", of: told, is: whole((row) => row.times), most: () => 1.25 },
  { load: "300 at once", what: "seconds, at most 1.5 times the ideal", of: (it) => !told(it), is: whole((row) => row.times), most: () => 1.5 },
  { load: "300 at once, three processes", what: "seconds, at most 1.5 times the ideal", is: whole((row) => row.times), most: () => 1.5 },
  ...["300 at once", "300 at once, three processes"].flatMap((load) => [
    { load, what: "throttled, at most 3 %", of: told, is: (row) => row.throttled, most: () => 0.03, show: percent },
    { load, what: "throttled, at most 8 %", of: (it) => !told(it), is: (row) => row.throttled, most: () => 0.08, show: percent },
  ]),
  {
    load: "cold start", what: "seconds to the first call that is served, at most 1.2 times what the server said, or 2 s",
    is: (row) => row.first ?? Infinity, most: (row) => Math.max(2, 1.2 * Math.max(row.said ?? 0, row.soonest)), show: (is) => (is < Infinity ? `${is.toFixed(1)} s` : "never"),
  },
];

function bars(find) {
  const lines = [];
  const put = (title, verdicts) => {
    if (!verdicts.length) return;
    const missed = verdicts.filter(({ met }) => !met);
    const list = missed.length ? `**not met** at ${missed.map(({ name, is }) => `${name} (${is})`).join("; ")}` : "met";
    lines.push(`- ${title}: ${verdicts.length - missed.length} of ${verdicts.length}; ${list}.`);
  };
  for (const { load, what, of = () => true, is, most, show = (is) => (is < Infinity ? is.toFixed(2) : "calls lost") } of BARS) {
    const kind = of === told ? " with hints" : of.length ? " without hints" : "";
    put(`${load}${kind}: ${what}`, PROVIDERS.filter(of).flatMap((provider) => {
      const [row, plain] = ["tidegate", "plain fetch"].map((client) => find(provider.name, load, client));
      if (!row || (AGAINST_PLAIN.includes(load) && !plain)) return [];
      const value = is(row, plain);
      return [{ name: provider.name, met: value <= most(row), is: show(value) }];
    }));
  }
  for (const [name, what] of [["lost", "no call lost"], ["twice", "no call sent again that was served"]]) {
    put(`every load: ${what}`, PROVIDERS.flatMap((provider) => {
      const rows = LOADS.map((load) => find(provider.name, load, "tidegate")).filter(Boolean);
      const worst = Math.max(...rows.map((row) => row[name]));
      return rows.length ? [{ name: provider.name, met: !worst, is: worst }] : [];
    }));
  }
  return lines;
}

const AGAINST_PLAIN = ["trickle", "sequential job"];
const BURSTS = ["300 at once", "300 at once, three processes"];
const LOADS = [...BURSTS, "cold start", "trickle", "sequential job"];
const CLIENTS = ["tidegate", "p-retry", "ky", "bottleneck", "p-queue", "smithy adaptive", "octokit"];

/** From this share on, the figures do not represent an idle machine. */
const BUSY = 0.25;

/** The texts of the page: what is before its tables, and what each table means. */
const [, ...texts] = fs.readFileSync(new URL("page.txt", import.meta.url), "utf8").split(/^=== (.+)\n/m);
const text = (name) => texts[texts.indexOf(name) + 1].trim();

export function page(rows, { runs, share }) {
  const find = (server, load, client) => rows.find((row) => row.server === server && row.load === load && row.client === client);
  const values = { servers: PROVIDERS.length, latency: LATENCY, runs: runs === 1 ? "one run" : `${runs} runs` };
  const lines = [
    text("head").replace(/\{(\w+)\}/g, (_, name) => values[name]),
    share === undefined ? "" : `During the run, programs on the machine waited for a processor ${percent(share)} of the time.`,
    share > BUSY ? text("busy") : "", "",
    "## Targets of tidegate", "",
    ...bars(find),
  ];
  for (const load of LOADS) {
    const here = PROVIDERS.filter(({ name }) => find(name, load, "tidegate"));
    if (!here.length) continue;
    lines.push("", `## ${load[0].toUpperCase()}${load.slice(1)}`, "", text(load), "");
    if (AGAINST_PLAIN.includes(load)) {
      const late = load === "trickle";
      lines.push(...head(["server", "calls", "ideal", "tidegate", "plain fetch", "times plain fetch", ...(late ? ["latest call, ms", "plain fetch's"] : [])], 1));
      for (const { name } of here) {
        const [own, plain] = ["tidegate", "plain fetch"].map((client) => find(name, load, client));
        const latest = [own, plain].map((row) => (row ? (row.latest * 1_000).toFixed(0) : ""));
        lines.push(line([name, own.calls, own.ideal.toFixed(1), cell(own), cell(plain), plain ? (own.seconds / plain.seconds).toFixed(3) : "", ...(late ? latest : [])]));
      }
      continue;
    }
    const cold = load === "cold start";
    lines.push(...head(["server", "tells", ...(cold ? ["soonest", "said"] : ["ideal"]), ...CLIENTS], 2));
    for (const { name, tells, method } of here) {
      const own = find(name, load, "tidegate");
      const times = cold ? [own.soonest.toFixed(1), own.said?.toFixed(1) ?? ""] : [own.ideal.toFixed(1)];
      const is = (client) => cell(find(name, load, client), cold ? find(name, load, client)?.first : undefined);
      lines.push(line([name, tells, ...times, ...CLIENTS.map(is)]));
      if (method === "POST") lines.push(line(["the same with `retry: true`", tells, ...times, is("tidegate, retry: true"), ...CLIENTS.slice(1).map(() => "")]));
    }
    if (BURSTS.includes(load)) {
      const of = (figure, some = here) => median(some.map(({ name }) => find(name, load, "tidegate")[figure]));
      const silent = here.filter(({ tells }) => tells === "nothing");
      lines.push("", `In the median of the servers, \`tidegate\` took ${of("times").toFixed(2)} times the ideal, and ${percent(of("throttled"))} of its calls were throttled; where nothing is told, ${percent(of("throttled", silent))}.`);
    }
  }
  lines.push("", "## The servers", "", text("servers"), "");
  lines.push(...head(["server", "tells", "limit", "time", "source", "read"], 6));
  for (const { name, tells, documented, scale, source, read } of PROVIDERS) {
    lines.push(line([name, tells, documented, scale === 1 ? "as it is" : `1/${scale}`, source ? `<${source}>` : "none: a rule of many servers", read ?? ""]));
  }
  lines.push("", "Written by `cargo xtask bench providers`.", "");
  return lines.join("\n");
}

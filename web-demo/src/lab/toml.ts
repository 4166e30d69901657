/**
 * Writes a scenario as a file that runs unchanged in `tidegate-sim`. Defaults are left out. The
 * engine runs the same text, so that the two cannot differ.
 */

import { written } from "./ownlaws";
import { scenario as blank, type Convergence, type Demand, type Group, type Honesty, type Latency, type Limit, type Scenario, type Stretch } from "./state";
import { decimal, rateText, timeText, type Rate, type Time } from "./units";
import { title } from "./words";

type Lines = (string | false | null)[];

const quoted = (text: string) => JSON.stringify(text);
const inQuotes = (value: Time) => quoted(timeText(value));
const rateInQuotes = (value: Rate) => quoted(rateText(value));
const line = <T>(key: string, value: T | null, write: (value: T) => string) => value !== null && `${key} = ${write(value)}`;

export function write(scenario: Scenario): string {
  const usual = blank();
  const { latency, hints } = scenario;
  const parts: Lines[] = [
    [
      `title = ${quoted(scenario.title || title(scenario))}`,
      `end = ${inQuotes(scenario.end)}`,
      scenario.bin !== usual.bin && `bin = ${inQuotes(scenario.bin)}`,
      scenario.measureFrom > 0 && `measure_from = ${inQuotes(scenario.measureFrom)}`,
      line("peak_from", scenario.peakFrom, inQuotes),
      scenario.stopWhenDone && "stop_when_work_is_done = true",
      line("stop_at_remaining", scenario.stopAtRemaining, decimal),
      line("offered", scenario.offered, rateInQuotes),
      writeLatency(latency) !== writeLatency(usual.latency) && `latency = ${writeLatency(latency)}`,
    ],
    [
      "[server]",
      scenario.outages.length > 0 &&
        `outages = [${scenario.outages.map(({ from, to }) => `{ from = ${inQuotes(from)}, to = ${inQuotes(to)} }`).join(", ")}]`,
      line("strangers", scenario.strangers, rateInQuotes),
    ],
    writeLimit(scenario.limit),
    [
      "[server.hints]",
      writeHonesty("retry_after", hints.retryAfter, inQuotes),
      writeHonesty("remaining", hints.remaining, decimal),
      writeHonesty("reset", hints.reset, inQuotes),
      writeHonesty("quota", hints.quota, ({ limit, period }) => `{ limit = ${decimal(limit)}, period = ${inQuotes(period)} }`),
    ],
    ...scenario.own.map(({ name, kind, parameters }): Lines => {
      const each = Object.entries(parameters).map(([name, text]) => `${name} = ${written(kind, name, text)}`);
      return [`[laws.${/^[\w-]+$/.test(name) ? name : quoted(name)}]`, `${kind} = {${each.length ? ` ${each.join(", ")} ` : ""}}`];
    }),
    ...scenario.clients.map(writeGroup),
    ...scenario.convergences.map(writeConvergence),
    ...scenario.stretches.map(writeStretch),
  ];
  const said = parts.map((lines) => lines.filter((line) => typeof line === "string"));
  const worth = said.filter((lines) => lines.length > 1 || lines[0] === "[[clients]]");
  return worth.map((lines) => lines.join("\n")).join("\n\n") + "\n";
}

function writeLatency(latency: Latency): string {
  switch (latency.kind) {
    case "constant": return `{ constant = ${inQuotes(latency.time)} }`;
    case "uniform": return `{ uniform = [${inQuotes(latency.least)}, ${inQuotes(latency.most)}] }`;
    case "exponential": return `{ exponential = ${inQuotes(latency.mean)} }`;
    case "lognormal": return `{ lognormal = { median = ${inQuotes(latency.median)}, sigma = ${float(latency.sigma)} } }`;
  }
}

/** A number with a fraction, as the format requires for floats. */
const float = (number: number) => (Number.isInteger(number) ? `${number}.0` : decimal(number));

function writeLimit(limit: Limit): Lines {
  const steps = (each: string[]) => each.length > 0 && `steps = [\n${each.map((step) => `    { ${step} },`).join("\n")}\n]`;
  switch (limit.kind) {
    case "bucket":
      return [
        "[server.bucket]", `burst = ${decimal(limit.burst)}`, `rate = ${rateInQuotes(limit.rate)}`,
        line("start", limit.start, decimal),
        steps(limit.steps.map(({ at, rate }) => `at = ${inQuotes(at)}, rate = ${rateInQuotes(rate)}`)),
      ];
    case "window":
      return ["[server.window]", `limit = ${decimal(limit.limit)}`, `width = ${inQuotes(limit.width)}`, line("phase", limit.phase, inQuotes)];
    case "queue":
      return [
        "[server.queue]", `workers = ${decimal(limit.workers)}`, `places = ${decimal(limit.places)}`, `service = ${inQuotes(limit.service)}`,
        steps(limit.steps.map(({ at, service }) => `at = ${inQuotes(at)}, service = ${inQuotes(service)}`)),
      ];
    case "autoscaling":
      return [
        "[server.autoscaling]", `least = ${rateInQuotes(limit.least)}`, `most = ${rateInQuotes(limit.most)}`,
        `target = ${float(limit.target)}`, `period = ${inQuotes(limit.period)}`, `credit = ${inQuotes(limit.credit)}`,
      ];
  }
}

function writeHonesty<T>(key: string, told: Honesty<T>, lie: (value: T) => string): string | false {
  if (told === "absent") return false;
  if (told === "honest") return `${key} = "honest"`;
  return "times" in told ? `${key} = { times = ${float(told.times)} }` : `${key} = { always = ${lie(told.always)} }`;
}

function writeDemand(demand: Demand): string | false {
  switch (demand.kind) {
    case "closed": return false;
    case "work": return `{ work = ${decimal(demand.calls)} }`;
    case "poisson": return `{ poisson = ${rateInQuotes(demand.rate)} }`;
    case "think": return `{ think = ${inQuotes(demand.time)} }`;
    case "on_off": return `{ on_off = { on = ${inQuotes(demand.on)}, off = ${inQuotes(demand.off)} } }`;
  }
}

function writeGroup(group: Group): Lines {
  const demand = writeDemand(group.demand);
  return [
    "[[clients]]",
    group.processes !== 1 && `processes = ${decimal(group.processes)}`,
    group.threads !== 1 && `threads = ${decimal(group.threads)}`,
    demand && `demand = ${demand}`,
    group.from > 0 && `from = ${inQuotes(group.from)}`,
    line("to", group.to, inQuotes),
    line("law", group.law, quoted),
    line("deadline", group.deadline, inQuotes),
    group.counted && "counted = true",
  ];
}

function writeConvergence({ name, toward, at, until, width, rate }: Convergence): Lines {
  return [
    "[[convergence]]", `name = ${quoted(name)}`, `toward = ${quoted(toward)}`,
    `at = ${inQuotes(at)}`, `until = ${inQuotes(until)}`, `width = ${inQuotes(width)}`, line("rate", rate, rateInQuotes),
  ];
}

function writeStretch(stretch: Stretch): Lines {
  return [
    "[[stretch]]", `name = ${quoted(stretch.name)}`,
    `from = ${inQuotes(stretch.from)}`, `to = ${inQuotes(stretch.to)}`, `show = [${stretch.show.map(quoted).join(", ")}]`,
    line("offered", stretch.offered, rateInQuotes),
    stretch.credit > 0 && `credit = ${decimal(stretch.credit)}`,
    line("every", stretch.every, inQuotes),
    stretch.times !== 1 && `times = ${decimal(stretch.times)}`,
  ];
}

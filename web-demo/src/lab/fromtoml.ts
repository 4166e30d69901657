/** Reads a scenario file: pasted, opened, or a preset. */

import { parse, TomlError } from "smol-toml";

import { KINDS, kindOf, nameOf, parameter, type OwnLaw } from "./ownlaws";
import {
  SHOWS, TOWARDS, checked, count, cut, group, scenario as blank,
  type Convergence, type Demand, type Group, type Hints, type Honesty, type Latency, type Limit, type Quota, type Scenario, type Stretch,
} from "./state";
import { Fault, decimal, rate, time, type Rate, type Time } from "./units";

type Table = Record<string, unknown>;

/** Parses a scenario file. Throws a [`Fault`] with one sentence that says what is wrong. */
export function read(text: string): Scenario {
  let file: Table;
  try {
    file = parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    throw new Fault(`line ${error.line}: ${error.message.split("\n", 1)[0]!.replace(/^Invalid TOML document: /, "")}`);
  }
  known(file, "the scenario", [
    "title", "end", "bin", "measure_from", "peak_from", "stop_when_work_is_done", "stop_at_remaining", "offered", "latency",
    "server", "clients", "laws", "stretch", "convergence",
  ]);
  const usual = blank();
  const server = table(file.server, "[server]");
  known(server, "[server]", ["bucket", "window", "queue", "autoscaling", "outages", "strangers", "hints"]);
  return checked({
    title: cut(string(file.title ?? "", "title")),
    end: asTime(file.end, "end"),
    bin: or(file.bin, usual.bin, (value) => asTime(value, "bin")),
    measureFrom: or(file.measure_from, 0, (value) => asTime(value, "measure_from")),
    peakFrom: or(file.peak_from, null, (value) => asTime(value, "peak_from")),
    stopWhenDone: flag(file.stop_when_work_is_done, "stop_when_work_is_done"),
    stopAtRemaining: or(file.stop_at_remaining, null, (value) => count(value, "stop_at_remaining")),
    offered: or(file.offered, null, (value) => asRate(value, "offered")),
    latency: or(file.latency, usual.latency, readLatency),
    limit: readLimit(server),
    outages: list(server.outages, "outages").map((outage) => {
      known(outage, "an outage", ["from", "to"]);
      return { from: asTime(outage.from, "an outage's from"), to: asTime(outage.to, "an outage's to") };
    }),
    strangers: or(server.strangers, null, (value) => asRate(value, "strangers")),
    hints: readHints(server.hints === undefined ? {} : table(server.hints, "[server.hints]")),
    clients: list(file.clients, "[[clients]]").map(readGroup),
    own: Object.entries(file.laws === undefined ? {} : table(file.laws, "[laws]")).map(([name, law]) => readOwn(name, table(law, `[laws.${name}]`))),
    stretches: list(file.stretch, "[[stretch]]").map(readStretch),
    convergences: list(file.convergence, "[[convergence]]").map(readConvergence),
  });
}

const or = <T, U>(value: unknown, otherwise: U, read: (value: unknown) => T): T | U => (value === undefined ? otherwise : read(value));

/** Keys that the simulator supports and the laboratory has no controls for. */
const BEYOND = ["stop_after_calls", "faults", "work", "start", "reset_form", "steady", "timeout"];

function known(table: Table, where: string, keys: string[]): void {
  const odd = Object.keys(table).find((key) => !keys.includes(key));
  if (odd === undefined) return;
  if (BEYOND.includes(odd)) throw new Fault(`the laboratory does not support “${odd}” in ${where}; the command line does: cargo run --release -p tidegate-sim -- run FILE`);
  throw new Fault(`unknown “${odd}” in ${where}; expected one of ${keys.join(", ")}`);
}

function table(value: unknown, what: string): Table {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Table;
  throw new Fault(value === undefined ? `${what} is missing` : `${what} must be a table`);
}

/** A table with no keys other than these. */
function only(value: unknown, what: string, keys: string[]): Table {
  const found = table(value, what);
  known(found, what, keys);
  return found;
}

function list(value: unknown, what: string): Table[] {
  if (value === undefined) return [];
  if (Array.isArray(value)) return value.map((each) => table(each, what));
  throw new Fault(`${what} must be a list`);
}

function string(value: unknown, what: string): string {
  if (typeof value === "string") return value;
  throw new Fault(value === undefined ? `${what} is missing` : `${what} must be text in quotes`);
}

function flag(value: unknown, what: string): boolean {
  if (value === undefined || typeof value === "boolean") return value ?? false;
  throw new Fault(`${what} must be true or false`);
}

function number(value: unknown, what: string): number {
  if (typeof value !== "number" || !Number.isFinite(value)) throw new Fault(`${what} must be a number`);
  // A number never runs as another number than the one that was written.
  if (Number(decimal(value)) !== value) throw new Fault(`${what} must have at most six decimals; ${value} has more`);
  return value;
}

const asTime = (value: unknown, what: string): Time => time(string(value, what));
const asRate = (value: unknown, what: string): Rate => rate(string(value, what));

/** The one entry of a table that represents a choice. */
function choice(value: unknown, what: string, choices: string[]): [string, unknown] {
  const entries = Object.entries(table(value, what));
  const entry = entries[0];
  if (entry && entries.length === 1 && choices.includes(entry[0])) return entry;
  throw new Fault(`${what} must be one of ${choices.join(", ")}`);
}

function readLatency(value: unknown): Latency {
  const [kind, is] = choice(value, "latency", ["constant", "uniform", "exponential", "lognormal"]);
  switch (kind) {
    case "constant": return { kind, time: asTime(is, "latency") };
    case "exponential": return { kind, mean: asTime(is, "latency") };
    case "uniform": {
      if (!Array.isArray(is) || is.length !== 2) throw new Fault("a uniform latency has two times");
      return { kind, least: asTime(is[0], "latency"), most: asTime(is[1], "latency") };
    }
    default: {
      const { median, sigma } = only(is, "lognormal", ["median", "sigma"]);
      return { kind: "lognormal", median: asTime(median, "median"), sigma: number(sigma, "sigma") };
    }
  }
}

function readLimit(server: Table): Limit {
  const kinds = ["bucket", "window", "queue", "autoscaling"] as const;
  const there = kinds.filter((kind) => server[kind] !== undefined);
  const kind = there[0];
  if (!kind || there.length > 1) throw new Fault(`a server has exactly one of ${kinds.map((kind) => `[server.${kind}]`).join(", ")}`);
  const spec = table(server[kind], `[server.${kind}]`);
  const known_ = (...keys: string[]) => known(spec, `[server.${kind}]`, keys);
  const steps = (...keys: string[]) => list(spec.steps, "steps").map((step) => only(step, "a step", keys));
  switch (kind) {
    case "bucket":
      known_("burst", "rate", "start", "steps");
      return {
        kind, burst: count(spec.burst, "burst", 1), rate: asRate(spec.rate, "rate"),
        start: or(spec.start, null, (value) => count(value, "start")),
        steps: steps("at", "rate").map(({ at, rate }) => ({ at: asTime(at, "at"), rate: asRate(rate, "rate") })),
      };
    case "window":
      known_("limit", "width", "phase");
      return {
        kind, limit: count(spec.limit, "limit", 1), width: asTime(spec.width, "width"),
        phase: or(spec.phase, null, (value) => asTime(value, "phase")),
      };
    case "queue":
      known_("workers", "places", "service", "steps");
      return {
        kind, workers: count(spec.workers, "workers", 1), places: count(spec.places, "places"), service: asTime(spec.service, "service"),
        steps: steps("at", "service").map(({ at, service }) => ({ at: asTime(at, "at"), service: asTime(service, "service") })),
      };
    case "autoscaling":
      known_("least", "most", "target", "period", "credit");
      return {
        kind, least: asRate(spec.least, "least"), most: asRate(spec.most, "most"), target: number(spec.target, "target"),
        period: asTime(spec.period, "period"), credit: asTime(spec.credit, "credit"),
      };
  }
}

function readHints(hints: Table): Hints {
  known(hints, "[server.hints]", ["retry_after", "remaining", "reset", "quota"]);
  const told = <T>(key: string, lie: (value: unknown) => T): Honesty<T> => {
    const value = hints[key];
    if (value === undefined || value === "absent") return "absent";
    if (value === "honest") return value;
    const [how, is] = choice(value, key, ["absent", "honest", "always", "times"]);
    return how === "times" ? { times: number(is, key) } : { always: lie(is) };
  };
  return {
    retryAfter: told("retry_after", (value) => asTime(value, "retry_after")),
    remaining: told("remaining", (value) => count(value, "remaining")),
    reset: told("reset", (value) => asTime(value, "reset")),
    quota: told<Quota>("quota", (value) => {
      const { limit, period } = only(value, "quota", ["limit", "period"]);
      return { limit: count(limit, "limit"), period: asTime(period, "period") };
    }),
  };
}

function readDemand(value: unknown): Demand {
  if (value === "closed") return { kind: "closed" };
  const [kind, is] = choice(value, "demand", ["closed", "work", "poisson", "think", "on_off"]);
  switch (kind) {
    case "work": return { kind, calls: count(is, "work", 1) };
    case "poisson": return { kind, rate: asRate(is, "poisson") };
    case "think": return { kind, time: asTime(is, "think") };
    default: {
      const { on, off } = only(is, "on_off", ["on", "off"]);
      return { kind: "on_off", on: asTime(on, "on"), off: asTime(off, "off") };
    }
  }
}

function readGroup(clients: Table): Group {
  known(clients, "[[clients]]", ["processes", "threads", "demand", "from", "to", "law", "deadline", "counted"]);
  const usual = group();
  return {
    processes: or(clients.processes, 1, (value) => count(value, "processes", 1)),
    threads: or(clients.threads, 1, (value) => count(value, "threads", 1)),
    demand: or(clients.demand, usual.demand, readDemand),
    from: or(clients.from, 0, (value) => asTime(value, "from")),
    to: or(clients.to, null, (value) => asTime(value, "to")),
    law: or(clients.law, null, (value) => string(value, "law")),
    deadline: or(clients.deadline, null, (value) => asTime(value, "deadline")),
    counted: flag(clients.counted, "counted"),
  };
}

function readOwn(name: string, law: Table): OwnLaw {
  const [of, ...others] = Object.keys(law);
  if (of === undefined || others.length) throw new Fault(`[laws.${name}] has exactly one of ${KINDS.join(", ")}`);
  const kind = kindOf(of);
  const parameters = Object.entries(table(law[kind], kind)).map(([name, value]) => [name, parameter(kind, name, value)]);
  return { name: nameOf(name), kind, parameters: Object.fromEntries(parameters) };
}

/** A name that becomes part of a metric's name. */
function name(value: unknown): string {
  const text = string(value, "name");
  if (/^\w{1,40}$/.test(text)) return text;
  throw new Fault(`“${text}” is not a valid name for a measure; use letters, digits and _`);
}

function readStretch(stretch: Table): Stretch {
  known(stretch, "[[stretch]]", ["name", "from", "to", "show", "offered", "credit", "every", "times"]);
  const show = Array.isArray(stretch.show) ? stretch.show : [];
  return {
    name: name(stretch.name),
    from: asTime(stretch.from, "from"),
    to: asTime(stretch.to, "to"),
    show: show.map((each) => SHOWS[SHOWS.indexOf(each as never)] ?? oneOf("show", SHOWS)),
    offered: or(stretch.offered, null, (value) => asRate(value, "offered")),
    credit: or(stretch.credit, 0, (value) => count(value, "credit")),
    every: or(stretch.every, null, (value) => asTime(value, "every")),
    times: or(stretch.times, 1, (value) => count(value, "times", 1)),
  };
}

function oneOf(what: string, names: readonly string[]): never {
  throw new Fault(`${what} must be one of ${names.join(", ")}`);
}

function readConvergence(convergence: Table): Convergence {
  known(convergence, "[[convergence]]", ["name", "toward", "at", "until", "width", "rate"]);
  return {
    name: name(convergence.name),
    toward: TOWARDS[TOWARDS.indexOf(convergence.toward as never)] ?? oneOf("toward", TOWARDS),
    at: asTime(convergence.at, "at"),
    until: asTime(convergence.until, "until"),
    width: asTime(convergence.width, "width"),
    rate: or(convergence.rate, null, (value) => asRate(value, "rate")),
  };
}

/** The short notation for parts of a scenario: `bucket,10/s,20,5/s@60s`, `5x2,poisson:1/s,from:300s`. */

import { kindOf, nameOf, parameter, type OwnLaw } from "./ownlaws";
import {
  SHOWS, TOWARDS, count, group,
  type Convergence, type Demand, type Group, type Hints, type Honesty, type Latency, type Limit, type Show, type Stretch,
} from "./state";
import { Fault, decimal, rate, rateText, time, timeText, type Time } from "./units";

/** Shortens a foreign text for a message. */
export const short = (text: string) => (text.length > 40 ? `${text.slice(0, 40)}…` : text);

export function whole(text: string, what: string, least = 0): number {
  return count(/^\d{1,10}$/.test(text) ? Number(text) : NaN, what, least);
}

export function bounded(text: string, most: number, what: string): number {
  const number = /^\d{1,10}(\.\d{1,6})?$/.test(text) ? Number(text) : NaN;
  if (number >= 0 && number <= most) return number;
  throw new Fault(`${what} must be a number from 0 to ${decimal(most)}`);
}

export function law(text: string): string {
  if (/^[a-z0-9][a-z0-9._+-]{0,39}$/.test(text)) return text;
  throw new Fault(`“${short(text)}” is not a law name`);
}

export const span = (from: Time, to: Time) => `${timeText(from)}-${timeText(to)}`;

export function readSpan(text: string): [Time, Time] {
  const parts = text.split("-");
  if (parts.length !== 2) throw new Fault(`“${short(text)}” is not two times like “60s-90s”`);
  return [time(parts[0]!), time(parts[1]!)];
}

/** The named fields after the positional ones: `from:30s`, or `counted` alone. */
function fields(parts: string[], names: string[]): Map<string, string> {
  return new Map(parts.map((part) => {
    const at = part.indexOf(":");
    const name = at < 0 ? part : part.slice(0, at);
    if (!names.includes(name)) throw new Fault(`“${short(part)}” is not one of ${names.join(", ")}`);
    return [name, at < 0 ? "" : part.slice(at + 1)];
  }));
}

export function writeLimit(limit: Limit): string {
  switch (limit.kind) {
    case "bucket":
      return ["bucket", rateText(limit.rate), decimal(limit.burst), ...(limit.start === null ? [] : [`start:${decimal(limit.start)}`]),
        ...limit.steps.map(({ at, rate }) => `${rateText(rate)}@${timeText(at)}`)].join();
    case "window":
      return ["window", decimal(limit.limit), timeText(limit.width), ...(limit.phase === null ? [] : [`phase:${timeText(limit.phase)}`])].join();
    case "queue":
      return ["queue", decimal(limit.workers), decimal(limit.places), timeText(limit.service),
        ...limit.steps.map(({ at, service }) => `${timeText(service)}@${timeText(at)}`)].join();
    case "autoscaling":
      return ["autoscaling", rateText(limit.least), rateText(limit.most), decimal(limit.target), timeText(limit.period), timeText(limit.credit)].join();
  }
}

export function readLimit(text: string): Limit {
  const [kind, ...parts] = text.split(",");
  const part = (index: number) => parts[index] ?? "";
  const rest = (from: number) => parts.slice(from).filter((part) => !part.includes("@"));
  const steps = <T>(read: (text: string) => T) => parts.filter((part) => part.includes("@")).map((part) => {
    const [what, at] = part.split("@", 2);
    return { at: time(at!), is: read(what!) };
  });
  switch (kind) {
    case "bucket": {
      const start = fields(rest(2), ["start"]).get("start");
      return {
        kind, rate: rate(part(0)), burst: whole(part(1), "the burst", 1), start: start === undefined ? null : whole(start, "start"),
        steps: steps(rate).map(({ at, is }) => ({ at, rate: is })),
      };
    }
    case "window": {
      const phase = fields(rest(2), ["phase"]).get("phase");
      return { kind, limit: whole(part(0), "the limit", 1), width: time(part(1)), phase: phase === undefined ? null : time(phase) };
    }
    case "queue":
      return {
        kind, workers: whole(part(0), "the workers", 1), places: whole(part(1), "the places"), service: time(part(2)),
        steps: steps(time).map(({ at, is }) => ({ at, service: is })),
      };
    case "autoscaling":
      return { kind, least: rate(part(0)), most: rate(part(1)), target: bounded(part(2), 1, "the target"), period: time(part(3)), credit: time(part(4)) };
    default:
      throw new Fault(`a server is a bucket, a window, a queue or autoscaling, not “${short(kind ?? "")}”`);
  }
}

const HINTS: [keyof Hints, string][] = [["retryAfter", "retry-after"], ["remaining", "remaining"], ["reset", "reset"], ["quota", "quota"]];

export function writeHints(hints: Hints): string {
  const lies = { retryAfter: timeText, reset: timeText, remaining: decimal, quota: quotaText } as Record<string, (value: never) => string>;
  return HINTS.filter(([key]) => hints[key] !== "absent").map(([key, name]) => {
    const told = hints[key] as Honesty<never>;
    if (typeof told === "string") return name;
    return "times" in told ? `${name}:${decimal(told.times)}x` : `${name}:${lies[key]!(told.always)}`;
  }).join();
}

const quotaText = ({ limit, period }: { limit: number; period: Time }) => `${decimal(limit)}/${timeText(period)}`;

export function readHints(text: string): Hints {
  const said = fields(text.split(",").filter(Boolean), HINTS.map(([, name]) => name));
  const told = <T>(name: string, lie: (text: string) => T): Honesty<T> => {
    const how = said.get(name);
    if (how === undefined) return "absent";
    if (how === "") return "honest";
    return how.endsWith("x") ? { times: bounded(how.slice(0, -1), 1e6, "a hint") } : { always: lie(how) };
  };
  return {
    retryAfter: told("retry-after", time),
    remaining: told("remaining", (text) => whole(text, "remaining")),
    reset: told("reset", time),
    quota: told("quota", (text) => {
      const [limit = "", period = ""] = text.split("/", 2);
      return { limit: whole(limit, "the quota"), period: time(period) };
    }),
  };
}

export function writeLatency(latency: Latency): string {
  switch (latency.kind) {
    case "constant": return timeText(latency.time);
    case "uniform": return span(latency.least, latency.most);
    case "exponential": return `exp:${timeText(latency.mean)}`;
    case "lognormal": return `log:${timeText(latency.median)}:${decimal(latency.sigma)}`;
  }
}

export function readLatency(text: string): Latency {
  const [kind, first = "", second = ""] = text.split(":");
  if (kind === "exp") return { kind: "exponential", mean: time(first) };
  if (kind === "log") return { kind: "lognormal", median: time(first), sigma: bounded(second, 10, "sigma") };
  if (!text.includes("-")) return { kind: "constant", time: time(text) };
  const [least, most] = readSpan(text);
  return { kind: "uniform", least, most };
}

function writeDemand(demand: Demand): string {
  switch (demand.kind) {
    case "closed": return "";
    case "work": return `work:${decimal(demand.calls)}`;
    case "poisson": return `poisson:${rateText(demand.rate)}`;
    case "think": return `think:${timeText(demand.time)}`;
    case "on_off": return `on:${span(demand.on, demand.off)}`;
  }
}

export function writeGroup(group: Group): string {
  return [
    `${decimal(group.processes)}x${decimal(group.threads)}`,
    writeDemand(group.demand),
    group.from > 0 ? `from:${timeText(group.from)}` : "",
    group.to === null ? "" : `to:${timeText(group.to)}`,
    group.law === null ? "" : `law:${group.law}`,
    group.deadline === null ? "" : `within:${timeText(group.deadline)}`,
    group.counted ? "counted" : "",
  ].filter(Boolean).join();
}

export function readGroup(text: string): Group {
  const [size = "", ...parts] = text.split(",");
  const [processes = "", threads = ""] = size.split("x", 2);
  const said = fields(parts, ["work", "poisson", "think", "on", "from", "to", "law", "within", "counted"]);
  const field = <T>(name: string, read: (text: string) => T): T | null => {
    const text = said.get(name);
    return text === undefined ? null : read(text);
  };
  const demand = field("work", (text): Demand => ({ kind: "work", calls: whole(text, "the work", 1) }))
    ?? field("poisson", (text): Demand => ({ kind: "poisson", rate: rate(text) }))
    ?? field("think", (text): Demand => ({ kind: "think", time: time(text) }))
    ?? field("on", (text): Demand => { const [on, off] = readSpan(text); return { kind: "on_off", on, off }; });
  return {
    ...group(),
    processes: whole(processes, "the processes", 1),
    threads: whole(threads, "the workers", 1),
    ...(demand && { demand }),
    from: field("from", time) ?? 0,
    to: field("to", time),
    law: field("law", law),
    deadline: field("within", time),
    counted: said.has("counted"),
  };
}

export function writeOwn({ name, kind, parameters }: OwnLaw): string {
  return [`${name}:${kind}`, ...Object.entries(parameters).map(([name, text]) => `${name}:${text.replace(" ", ":")}`)].join();
}

export function readOwn(text: string): OwnLaw {
  const [head = "", ...parts] = text.split(",");
  const [name = "", of = ""] = head.split(":", 2);
  const kind = kindOf(of);
  const parameters = parts.map((part) => {
    const [name = "", ...value] = part.split(":");
    return [name, parameter(kind, name, value.join(" "))];
  });
  return { name: nameOf(name), kind, parameters: Object.fromEntries(parameters) };
}

export function writeConvergence({ name, toward, at, until, width, rate }: Convergence): string {
  return [name, toward, span(at, until), timeText(width), ...(rate ? [rateText(rate)] : [])].join();
}

function named(text: string): string {
  if (/^\w{1,40}$/.test(text)) return text;
  throw new Fault(`“${short(text)}” is not a valid name for a measure`);
}

function oneOf<T extends string>(names: readonly T[], text: string): T {
  const found = names.find((name) => name === text);
  if (found) return found;
  throw new Fault(`“${short(text)}” is not one of ${names.join(", ")}`);
}

export function readConvergence(text: string): Convergence {
  const [name = "", toward = "", looked = "", width = "", to] = text.split(",");
  const [at, until] = readSpan(looked);
  return { name: named(name), toward: oneOf(TOWARDS, toward), at, until, width: time(width), rate: to === undefined ? null : rate(to) };
}

export function writeStretch(stretch: Stretch): string {
  return [
    stretch.name, span(stretch.from, stretch.to), stretch.show.join("/"),
    stretch.offered ? `offered:${rateText(stretch.offered)}` : "",
    stretch.credit > 0 ? `credit:${decimal(stretch.credit)}` : "",
    stretch.every === null ? "" : `every:${timeText(stretch.every)}`,
    stretch.times !== 1 ? `times:${decimal(stretch.times)}` : "",
  ].filter(Boolean).join();
}

export function readStretch(text: string): Stretch {
  const [name = "", looked = "", show = "", ...parts] = text.split(",");
  const [from, to] = readSpan(looked);
  const said = fields(parts, ["offered", "credit", "every", "times"]);
  const [offered, credit, every, times] = ["offered", "credit", "every", "times"].map((name) => said.get(name));
  return {
    name: named(name), from, to,
    show: show.split("/").map((each): Show => oneOf(SHOWS, each)),
    offered: offered === undefined ? null : rate(offered),
    credit: credit === undefined ? 0 : whole(credit, "credit"),
    every: every === undefined ? null : time(every),
    times: times === undefined ? 1 : whole(times, "times", 1),
  };
}

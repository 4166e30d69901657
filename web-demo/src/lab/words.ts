/** A scenario in words: the title of its file and its description on the page. */

import type { Group, Scenario, Server } from "./state";
import { decimal, spoken, spokenRate, time } from "./units";

/** What a scenario shows, in one line. */
export function title(scenario: Scenario): string {
  const { server: { bucket, queue, outages = [], strangers, hints }, clients, end } = scenario;
  const steps = (bucket ?? queue)?.steps?.length ?? 0;
  const told = givenHints(hints);
  const changes = [
    steps > 0 && `a capacity that changes ${times(steps)}`,
    outages.length > 0 && `an outage ${outages.length === 1 ? `of ${spoken(time(outages[0]!.to) - time(outages[0]!.from))}` : times(outages.length)}`,
    strangers && `other callers at ${spokenRate(strangers)}`,
    told && `responses carry ${told}`,
  ];
  const own = [whatLimit(scenario.server), ...changes.filter(Boolean)].join(", ");
  return `${own}; ${clients.map(whatClients).join(", ")}, for ${spoken(time(end))}`;
}

const times = (number: number) => (number === 1 ? "once" : number === 2 ? "twice" : `${number} times`);
const some = (number: number, one: string) => `${decimal(number)} ${number === 1 ? one : `${one}s`}`;

const ONE: Record<string, string> = { "1 s": "second", "1 min": "minute", "1 h": "hour" };

function whatLimit({ bucket, window, queue, autoscaling }: Server): string {
  if (bucket) return `${spokenRate(bucket.rate)}, in bursts of up to ${decimal(bucket.burst)}`;
  if (queue) return `${some(queue.workers, "worker")} of ${spoken(time(queue.service))} with ${some(queue.places, "place")} in the queue`;
  if (autoscaling) return `a server that scales from ${spokenRate(autoscaling.least)} to ${spokenRate(autoscaling.most)}`;
  const width = spoken(time(window!.width));
  return `${some(window!.limit, "call")} in each ${ONE[width] ?? width} of the server's clock`;
}

export function whatClients({ processes = 1, threads = 1, law, demand, from, to }: Group): string {
  const workers = threads > 1 && ` with ${some(threads, "worker")}${processes > 1 ? " each" : ""}`;
  const who = `${some(processes, "program")}${workers || ""}${law === undefined ? "" : ` under ${law}`}`;
  const parts = [who, whatDemand(demand), time(from) > 0 && `from ${spoken(time(from))}`, to !== undefined && `until ${spoken(time(to))}`];
  return parts.filter(Boolean).join(" ");
}

function whatDemand(demand: Group["demand"] = "closed"): string {
  if (typeof demand === "string") return "";
  const { work, poisson, think, on_off: phases } = demand;
  if (work) return `with ${some(work, "call")} each`;
  if (poisson) return `that make ${spokenRate(poisson)} each, at random`;
  if (think) return `that pause ${spoken(time(think))}`;
  return phases ? `on for ${spoken(time(phases.on))} and off for ${spoken(time(phases.off))}` : "";
}

const HINTS: Record<string, string> =
  { retry_after: "Retry-After", remaining: "the calls left", reset: "the time of the reset", quota: "the limit" };

function givenHints(hints: Server["hints"] = {}): string {
  const keys = Object.keys(HINTS).filter((key) => (hints[key] ?? "absent") !== "absent");
  const names = keys.map((key) => HINTS[key] + (hints[key] === "honest" ? "" : " (not the truth)"));
  return names.length > 1 ? `${names.slice(0, -1).join(", ")} and ${names.at(-1)}` : (names[0] ?? "");
}

/** A scenario in words: the title of its file and its description on the page. */

import type { Demand, Group, Hints, Limit, Scenario } from "./state";
import { decimal, spoken, spokenRate } from "./units";

/** What a scenario shows, in one line. */
export function title(scenario: Scenario): string {
  const { limit, outages, strangers, hints } = scenario;
  const steps = "steps" in limit ? limit.steps.length : 0;
  const told = givenHints(hints);
  const changes = [
    steps > 0 && `a capacity that changes ${times(steps)}`,
    outages.length > 0 && `an outage ${outages.length === 1 ? `of ${spoken(outages[0]!.to - outages[0]!.from)}` : times(outages.length)}`,
    strangers && `other callers at ${spokenRate(strangers)}`,
    told && `responses carry ${told}`,
  ];
  const own = [whatLimit(limit), ...changes.filter(Boolean)].join(", ");
  return `${own}; ${scenario.clients.map(whatClients).join(", ")}, for ${spoken(scenario.end)}`;
}

const times = (number: number) => (number === 1 ? "once" : number === 2 ? "twice" : `${number} times`);
const some = (number: number, one: string, many: string) => `${decimal(number)} ${number === 1 ? one : many}`;

const ONE: Record<string, string> = { "1 s": "second", "1 min": "minute", "1 h": "hour" };

export function whatLimit(limit: Limit): string {
  switch (limit.kind) {
    case "bucket": return `${spokenRate(limit.rate)} with a burst of ${decimal(limit.burst)}`;
    case "window": return `${some(limit.limit, "call", "calls")} in each ${ONE[spoken(limit.width)] ?? spoken(limit.width)} of the server's clock`;
    case "queue": return `${some(limit.workers, "worker", "workers")} of ${spoken(limit.service)} with ${some(limit.places, "place", "places")} in the queue`;
    case "autoscaling": return `a server that scales from ${spokenRate(limit.least)} to ${spokenRate(limit.most)}`;
  }
}

export function whatClients(group: Group): string {
  const law = group.law === null ? "" : ` with ${group.law}`;
  const who = `${some(group.processes, "program", "programs")} x ${some(group.threads, "worker", "workers")}${law}`;
  const from = group.from > 0 && `from ${spoken(group.from)}`;
  const to = group.to !== null && `until ${spoken(group.to)}`;
  const parts = [who, whatDemand(group.demand), from, to];
  return parts.filter((part) => typeof part === "string" && part).join(" ");
}

function whatDemand(demand: Demand): string {
  switch (demand.kind) {
    case "closed": return "";
    case "work": return `with ${some(demand.calls, "call", "calls")} each`;
    case "poisson": return `that call at random, ${spokenRate(demand.rate)} each`;
    case "think": return `that pause ${spoken(demand.time)}`;
    case "on_off": return `on for ${spoken(demand.on)} and off for ${spoken(demand.off)}`;
  }
}

const HINTS: Record<keyof Hints, string> =
  { retryAfter: "Retry-After", remaining: "the calls left", reset: "the time of the reset", quota: "the limit" };

function givenHints(hints: Hints): string {
  const keys = (Object.keys(HINTS) as (keyof Hints)[]).filter((key) => hints[key] !== "absent");
  const names = keys.map((key) => HINTS[key] + (hints[key] === "honest" ? "" : " (not the truth)"));
  return names.length > 1 ? `${names.slice(0, -1).join(", ")} and ${names.at(-1)}` : (names[0] ?? "");
}

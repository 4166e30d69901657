/**
 * Changes during a run: a step of the capacity, an outage, clients that join and leave. Each
 * becomes a line of the scenario at its virtual time, so that a replay is identical.
 */

import { changed, type Convergence, type Group, type Limit, type Scenario } from "./state";
import { Fault, decimal, perSecond, spoken, spokenRate, type Rate, type Time } from "./units";
import { whatClients } from "./words";

/** Multiplies the capacity at this time. */
export function scale(scenario: Scenario, at: Time, factor: number): Scenario {
  const { limit } = scenario;
  const since = Math.max(at, 1_000); // a step at time 0 would replace the initial capacity
  if (limit.kind === "bucket") {
    const before = limit.steps.filter((step) => step.at <= since).at(-1)?.rate ?? limit.rate;
    const rate: Rate = { ...before, calls: Number(decimal(before.calls * factor)) };
    return stepped(scenario, { ...limit, steps: inserted(limit.steps, { at: since, rate }) });
  }
  if (limit.kind === "queue") {
    const before = limit.steps.filter((step) => step.at <= since).at(-1)?.service ?? limit.service;
    const service = Math.max(1, Math.round(before / factor));
    return stepped(scenario, { ...limit, steps: inserted(limit.steps, { at: since, service }) });
  }
  throw new Fault(noSteps(limit)!);
}

/** Why this limit cannot change during a run; null if it can. */
export function noSteps(limit: Limit): string | null {
  if (limit.kind === "window") return "a window's limit is constant; choose a bucket or a queue for a limit that changes";
  if (limit.kind === "autoscaling") return "an autoscaling server has no steps; choose a bucket or a queue";
  return null;
}

const inserted = <S extends { at: Time }>(steps: S[], step: S): S[] =>
  [...steps.filter(({ at }) => at !== step.at), step].sort((a, b) => a.at - b.at);

/** With another capacity over time, and measures of how soon clients settle after each change. */
export const stepped = (scenario: Scenario, limit: Limit): Scenario => measured(changed(scenario, { limit }));

/** Starts an outage of this length. */
export function fail(scenario: Scenario, from: Time, length: Time): Scenario {
  const outages = [...scenario.outages, { from, to: from + length }].sort((a, b) => a.from - b.from);
  return measured(changed(scenario, { outages }));
}

/** As many clients of the same kind join as there were at first. */
export function join(scenario: Scenario, from: Time): Scenario {
  const like = scenario.clients[0]!;
  if (from >= scenario.end) throw new Fault("the run is over; clients can only join before its end");
  return changed(scenario, { clients: [...scenario.clients, { ...like, from, to: null }] });
}

/** Half of the present clients leave. The others keep their places and random numbers. */
export function leave(scenario: Scenario, at: Time): Scenario {
  const there = ({ from, to }: Group) => from < at && (to === null || to > at);
  const present = scenario.clients.filter(there).reduce((sum, group) => sum + group.processes, 0);
  let leaving = Math.floor(present / 2);
  if (at <= 0 || leaving === 0) throw new Fault("there are fewer than two clients, so half of them cannot leave");
  // The last to join leaves first. A group that is split keeps its place.
  const clients = [...scenario.clients].reverse().flatMap((group) => {
    if (!there(group) || leaving === 0) return [group];
    const processes = Math.min(leaving, group.processes);
    leaving -= processes;
    const gone = { ...group, processes, to: at };
    return processes === group.processes ? [gone] : [gone, { ...group, processes: group.processes - processes }];
  });
  return changed(scenario, { clients: clients.reverse() });
}

/** An event in a scenario, and the scenario without it. */
export interface Happening { at: Time; words: string; without: Scenario }

export function happenings(scenario: Scenario): Happening[] {
  const { limit, outages, clients } = scenario;
  const all: Happening[] = outages.map((outage) => ({
    at: outage.from, words: `outage of ${spoken(outage.to - outage.from)}`,
    without: measured(changed(scenario, { outages: outages.filter((other) => other !== outage) })),
  }));
  if (limit.kind === "bucket") {
    all.push(...limit.steps.map((step) => ({
      at: step.at, words: `the limit becomes ${spokenRate(step.rate)}`,
      without: stepped(scenario, { ...limit, steps: limit.steps.filter((other) => other !== step) }),
    })));
  }
  if (limit.kind === "queue") {
    all.push(...limit.steps.map((step) => ({
      at: step.at, words: `a call takes ${spoken(step.service)} in the server`,
      without: stepped(scenario, { ...limit, steps: limit.steps.filter((other) => other !== step) }),
    })));
  }
  for (const group of clients) {
    const without = (other: Group | null) =>
      changed(scenario, { clients: clients.flatMap((each) => (each !== group ? [each] : other ? [other] : [])) });
    const who = whatClients({ ...group, from: 0, to: null });
    if (group.from > 0) all.push({ at: group.from, words: `${who} join`, without: without(clients.length > 1 ? null : { ...group, from: 0 }) });
    if (group.to !== null) all.push({ at: group.to, words: `${who} leave`, without: without({ ...group, to: null }) });
  }
  return all.sort((a, b) => a.at - b.at);
}

const SETTLING = ["recovery_s", "up_s", "down_s"];

/**
 * Adds the measures for outages and steps: the time until nine tenths of the new rate are served,
 * or until hardly anything is throttled. Each is looked for until the next change.
 */
export function measured(scenario: Scenario): Scenario {
  const { limit, outages, bin, end } = scenario;
  const kept = scenario.convergences.filter(({ name }) => !SETTLING.includes(name));
  if (limit.kind !== "bucket") return { ...scenario, convergences: kept };
  const steps = [{ at: 0, rate: limit.rate }, ...limit.steps];
  const last = Math.floor(end / bin) * bin;
  const next = (at: Time) => Math.min(last, ...[...steps.map((step) => step.at), ...outages.map(({ from }) => from)].filter((time) => time > at));
  const looked = (name: string, toward: Convergence["toward"], at: Time, rate: Rate): Convergence[] => {
    const [from, until] = [Math.ceil(at / bin) * bin, Math.floor(next(at) / bin) * bin];
    return until - from > 5 * bin && rate.calls > 0 ? [{ name, toward, at: from, until, width: 5 * bin, rate }] : [];
  };
  const rateAt = (at: Time) => steps.filter((step) => step.at <= at).at(-1)!.rate;
  return {
    ...scenario,
    convergences: [
      ...kept,
      ...outages.flatMap(({ to }) => looked("recovery_s", "up", to, rateAt(to))),
      ...limit.steps.flatMap(({ at, rate }, index) => {
        const rises = perSecond(rate) > perSecond(steps[index]!.rate);
        return rises ? looked("up_s", "up", at, rate) : looked("down_s", "down", at, rate);
      }),
    ],
  };
}

/**
 * Changes of a scenario: by a control, or during a run. Then a step of the capacity, an outage, and
 * clients that join and leave become lines of the scenario at their virtual times, so that a replay
 * is identical.
 */

import { binOf, get, programsOf, put, type Convergence, type Group, type Path, type Scenario, type Server, type State } from "./state";
import { Fault, HOUR, MINUTE, SECOND, perSecond, rate, rateText, spoken, spokenRate, time, timeText, type Time } from "./units";
import { whatClients } from "./words";

/** A state with another value at this place. */
export function edited(state: State, path: Path, value: unknown): State {
  const latency: Path = ["scenario", "latency"];
  let next = put(path[1] === "latency" ? put(state, latency, get(state, latency)) : state, path, value);
  if (path[0] !== "scenario") return next;
  if (path[1] === "end") next = put(next, ["scenario", "bin"], bins(next.scenario));
  const isLimit = path[1] === "server" && path[2] !== "hints" && path[2] !== "strangers";
  return { ...next, scenario: changed(isLimit ? measured(next.scenario) : next.scenario) };
}

/** The bin width for a run of this length: unchanged if that gives a sensible number of bins. */
function bins(scenario: Scenario): string {
  const end = time(scenario.end);
  const fits = (bin: Time) => end / bin >= 200 && end / bin <= 100_000;
  const otherwise = end < 20 * SECOND ? 10_000 : 24 * HOUR;
  return timeText([binOf(scenario), SECOND, 100_000, 10 * SECOND, MINUTE, 10 * MINUTE, HOUR].find(fits) ?? otherwise);
}

/**
 * A scenario after a change: without the author's title, without measures that no longer fit into
 * its time or bins, and with starts and spreads within their bounds.
 */
export function changed(scenario: Scenario): Scenario {
  const [end, bin] = [time(scenario.end), binOf(scenario)];
  const { bucket, window } = scenario.server;
  const whole = (...times: (string | undefined)[]) => times.every((each) => time(each) % bin === 0);
  let next: Scenario = {
    ...scenario,
    stretch: scenario.stretch?.filter(({ from, to, every, times = 1 }) => time(to) + time(every) * (times - 1) <= end && whole(from, to, every)),
    convergence: scenario.convergence?.filter(({ at, until, width }) => time(until) <= end && whole(at, until, width)),
  };
  delete next.title;
  const { start = 0, burst = 0 } = bucket ?? {};
  if (start > burst) next = put(next, ["server", "bucket", "start"], burst);
  if (window?.phase && time(window.phase) >= time(window.width)) next = put(next, ["server", "window", "phase"], undefined);
  const { uniform } = scenario.latency ?? {};
  return uniform ? put(next, ["latency", "uniform"], [...uniform].sort((a, b) => time(a) - time(b))) : next;
}

/** Multiplies the capacity at this time. */
export function scale(scenario: Scenario, at: Time, factor: number): Scenario {
  const { bucket, queue } = scenario.server;
  const since = Math.max(at, 1_000); // a step at time 0 would replace the initial capacity
  const before = <S extends { at: string }>(steps: S[] = []) => steps.filter((step) => time(step.at) <= since).at(-1);
  if (bucket) {
    const { calls, per } = rate(before(bucket.steps)?.rate ?? bucket.rate);
    return stepped(scenario, "bucket", inserted(bucket.steps, { at: timeText(since), rate: rateText({ calls: calls * factor, per }) }));
  }
  if (queue) {
    const service = Math.max(1, Math.round(time(before(queue.steps)?.service ?? queue.service) / factor));
    return stepped(scenario, "queue", inserted(queue.steps, { at: timeText(since), service: timeText(service) }));
  }
  throw new Fault(noSteps(scenario.server)!);
}

/** Why this server's limit cannot change during a run; null if it can. */
export function noSteps({ window, autoscaling }: Server): string | null {
  if (window) return "a window's limit is constant; choose a bucket or a queue for a limit that changes";
  if (autoscaling) return "an autoscaling server has no steps; choose a bucket or a queue";
  return null;
}

const inserted = <S extends { at: string }>(steps: S[] = [], step: S): S[] =>
  [...steps.filter(({ at }) => time(at) !== time(step.at)), step].sort((a, b) => time(a.at) - time(b.at));

/** With other steps of the capacity, and measures of how soon clients settle after each. */
const stepped = (scenario: Scenario, kind: "bucket" | "queue", steps: { at: string }[]): Scenario =>
  measured(changed(put(scenario, ["server", kind, "steps"], steps)));

/** Starts an outage of this length. */
export function fail(scenario: Scenario, from: Time, length: Time): Scenario {
  const outages = [...scenario.server.outages ?? [], { from: timeText(from), to: timeText(from + length) }];
  return failing(scenario, outages.sort((a, b) => time(a.from) - time(b.from)));
}

const failing = (scenario: Scenario, outages: Server["outages"]): Scenario => measured(changed(put(scenario, ["server", "outages"], outages)));

const withClients = (scenario: Scenario, clients: Group[]): Scenario => changed({ ...scenario, clients });

/** As many clients of the same kind join as there were at first. */
export function join(scenario: Scenario, from: Time): Scenario {
  if (from >= time(scenario.end)) throw new Fault("the run is over; clients can only join before its end");
  const { to: _, ...like } = scenario.clients[0]!;
  return withClients(scenario, [...scenario.clients, { ...like, from: timeText(from) }]);
}

/** Half of the present clients leave. The others keep their places and random numbers. */
export function leave(scenario: Scenario, at: Time): Scenario {
  const there = ({ from, to }: Group) => time(from) < at && (to === undefined || time(to) > at);
  const present = scenario.clients.filter(there).reduce((sum, group) => sum + programsOf(group), 0);
  let leaving = Math.floor(present / 2);
  if (at <= 0 || leaving === 0) throw new Fault("there are fewer than two clients, so half of them cannot leave");
  // The last to join leaves first. A group that is split keeps its place.
  const clients = [...scenario.clients].reverse().flatMap((group) => {
    if (!there(group) || leaving === 0) return [group];
    const processes = Math.min(leaving, programsOf(group));
    leaving -= processes;
    const gone = { ...group, processes, to: timeText(at) };
    return processes === programsOf(group) ? [gone] : [gone, { ...group, processes: programsOf(group) - processes }];
  });
  return withClients(scenario, clients.reverse());
}

/** An event in a scenario, and the scenario without it. */
export interface Happening { at: Time; words: string; without: Scenario }

export function happenings(scenario: Scenario): Happening[] {
  const { server: { outages = [], bucket, queue }, clients } = scenario;
  const each = <T>(all: T[], at: (one: T) => string, words: (one: T) => string, without: (others: T[]) => Scenario): Happening[] =>
    all.map((one) => ({ at: time(at(one)), words: words(one), without: without(all.filter((other) => other !== one)) }));
  const all = [
    ...each(outages, ({ from }) => from, ({ from, to }) => `outage of ${spoken(time(to) - time(from))}`, (others) => failing(scenario, others)),
    ...each(bucket?.steps ?? [], ({ at }) => at, ({ rate }) => `the limit becomes ${spokenRate(rate)}`, (others) => stepped(scenario, "bucket", others)),
    ...each(queue?.steps ?? [], ({ at }) => at, ({ service }) => `a call takes ${spoken(time(service))} in the server`, (others) => stepped(scenario, "queue", others)),
  ];
  for (const group of clients) {
    const { from, to, ...rest } = group;
    const without = (...other: Group[]) => withClients(scenario, clients.flatMap((each) => (each !== group ? [each] : other)));
    if (time(from) > 0) all.push({ at: time(from), words: `${whatClients(rest)} join`, without: clients.length > 1 ? without() : without({ ...rest, to }) });
    if (to !== undefined) all.push({ at: time(to), words: `${whatClients(rest)} leave`, without: without({ ...rest, from }) });
  }
  return all.sort((a, b) => a.at - b.at);
}

const SETTLING = ["recovery_s", "up_s", "down_s"];

/**
 * Adds the measures for outages and steps: the time until nine tenths of the new rate are served,
 * or until hardly anything is throttled. Each is looked for until the next change.
 */
function measured(scenario: Scenario): Scenario {
  const { server: { bucket, outages = [] }, convergence = [] } = scenario;
  const bin = binOf(scenario);
  const kept = convergence.filter(({ name }) => !SETTLING.includes(name));
  if (!bucket) return { ...scenario, convergence: kept };
  const steps = [{ at: 0, rate: bucket.rate }, ...(bucket.steps ?? []).map(({ at, rate }) => ({ at: time(at), rate }))];
  const down = (at: Time) => Math.floor(at / bin) * bin;
  const changes = [...steps.map(({ at }) => at), ...outages.map(({ from }) => time(from))];
  const looked = (name: string, toward: string, change: Time, limit: string): Convergence[] => {
    const [at, until] = [Math.ceil(change / bin) * bin, down(Math.min(time(scenario.end), ...changes.filter((other) => other > change)))];
    return until - at > 5 * bin && rate(limit).calls > 0 ? [{ name, toward, at: timeText(at), until: timeText(until), width: timeText(5 * bin), rate: limit }] : [];
  };
  const rateAt = (at: Time) => steps.filter((step) => step.at <= at).at(-1)!.rate;
  return {
    ...scenario,
    convergence: [
      ...kept,
      ...outages.flatMap(({ to }) => looked("recovery_s", "up", time(to), rateAt(time(to)))),
      ...steps.slice(1).flatMap(({ at, rate: limit }, index) => {
        const rises = perSecond(rate(limit)) > perSecond(rate(steps[index]!.rate));
        return rises ? looked("up_s", "up", at, limit) : looked("down_s", "down", at, limit);
      }),
    ],
  };
}

/** The controls: the server, its callers and the world. They show the state and request changes. */

import { fail, happenings, measured, noSteps, scale } from "./changes";
import { groups } from "./clients";
import { h } from "./dom";
import { button, choice, fixed, number, optional, rate, time, varying, type Change, type Field } from "./fields";
import { hints } from "./hints";
import { of } from "./lens";
import { mine } from "./mine";
import { changed, type Bucket, type Latency, type Limit, type Queue, type State } from "./state";
import { HOUR, MINUTE, SECOND, spoken, type Time } from "./units";

const wide = matchMedia("(min-width: 60rem)");

export function controls(change: Change<State>, laws: string[]): Field<State> {
  const sections: [string, Field<State>[], boolean][] = [
    ["Server", server(change), true],
    ["Hints in responses", hints(change), false],
    ["Clients", groups(change, laws), true],
    ["Your own laws", mine(change), false],
    ["Events", [events(change)], true],
    ["World", world(change), false],
  ];
  const element = h("div", { class: "controls" }, ...sections.map(([title, fields, open]) =>
    h("details", { open: open && wide.matches }, h("summary", {}, title), h("div", { class: "fields" }, ...fields.map((field) => field.element)))));
  const all = sections.flatMap(([, fields]) => fields);
  return { element, sync: (state) => all.forEach((field) => field.sync(state)) };
}

const KINDS = [
  ["bucket", "token bucket"], ["window", "fixed window"], ["queue", "workers and a queue"], ["autoscaling", "autoscaling"],
] as const;

/** A limit of another kind and of about the same size. */
function other(limit: Limit, kind: Limit["kind"]): Limit {
  switch (kind) {
    case "bucket": return { kind, burst: 20, rate: { calls: 10, per: "s" }, start: null, steps: [] };
    case "window": return { kind, limit: limit.kind === "bucket" && limit.rate.per === "min" ? limit.rate.calls : 100, width: MINUTE, phase: null };
    case "queue": return { kind, workers: 4, places: 16, service: 200_000, steps: [] };
    case "autoscaling": return { kind, least: { calls: 10, per: "s" }, most: { calls: 40, per: "s" }, target: 0.7, period: MINUTE, credit: 5 * MINUTE };
  }
}

function server(change: Change<State>): Field<State>[] {
  const limit = <L extends Limit, T>(get: (limit: L) => T, set: (limit: L, value: T) => L) =>
    of((scenario) => get(scenario.limit as L), (scenario, value: T) => ({ limit: set(scenario.limit as L, value) }));
  const restepped = <T>(get: (limit: Bucket) => T, set: (limit: Bucket, value: T) => Bucket) => ({
    get: (state: State) => get(state.scenario.limit as Bucket),
    set: (state: State, value: T): State => ({ ...state, scenario: measured(changed(state.scenario, { limit: set(state.scenario.limit as Bucket, value) })) }),
  });
  const kind = choice("Kind", change, of(({ limit }) => limit.kind, (scenario, kind: Limit["kind"]) => ({ limit: other(scenario.limit, kind) })), KINDS);
  const kinds: Record<Limit["kind"], () => Field<State>[]> = {
    bucket: () => [
      rate("Limit", change, restepped(({ rate }) => rate, (limit, rate) => (rate ? { ...limit, rate } : limit))),
      number("Burst", change, limit<Bucket, number>(({ burst }) => burst, (limit, burst) => ({ ...limit, burst, start: limit.start === null ? null : Math.min(limit.start, burst) })), { least: 1, most: 1e6 }, "calls"),
      optional("Tokens at start", change, limit<Bucket, number | null>(({ start }) => start, (limit, start) => ({ ...limit, start: start === null ? null : Math.min(start, limit.burst) })), { most: 1e6 }, "full"),
    ],
    window: () => [
      number("Limit", change, of((s) => (s.limit as { limit: number }).limit, (s, limit: number) => ({ limit: { ...s.limit, limit } as Limit })), { least: 1, most: 1e6 }, "calls"),
      time("Per", change, of((s): Time | null => (s.limit as { width: Time }).width, (s, width) => ({ limit: { ...s.limit, width: width!, phase: null } as Limit })), { least: 1_000 }),
    ],
    queue: () => [
      number("Workers", change, limit<Queue, number>(({ workers }) => workers, (limit, workers) => ({ ...limit, workers })), { least: 1, most: 10_000 }),
      number("Queue length", change, limit<Queue, number>(({ places }) => places, (limit, places) => ({ ...limit, places })), { most: 100_000 }),
      time("A call takes", change, limit<Queue, Time | null>(({ service }) => service, (limit, service) => ({ ...limit, service: service! })), { least: 1 }),
    ],
    autoscaling: () => [
      rate("At least", change, of((s) => (s.limit.kind === "autoscaling" ? s.limit.least : null), (s, least) => ({ limit: { ...s.limit, least } as Limit }))),
      rate("At most", change, of((s) => (s.limit.kind === "autoscaling" ? s.limit.most : null), (s, most) => ({ limit: { ...s.limit, most } as Limit }))),
      number("Target use", change, of((s) => (s.limit.kind === "autoscaling" ? s.limit.target * 100 : 0), (s, target: number) => ({ limit: { ...s.limit, target: target / 100 } as Limit })), { least: 1, most: 100 }, "%"),
      time("Adjusts every", change, of((s): Time | null => (s.limit.kind === "autoscaling" ? s.limit.period : 0), (s, period) => ({ limit: { ...s.limit, period } as Limit })), { least: 1_000 }),
      time("Credit of", change, of((s): Time | null => (s.limit.kind === "autoscaling" ? s.limit.credit : 0), (s, credit) => ({ limit: { ...s.limit, credit } as Limit })), { least: 1_000 }),
    ],
  };
  return [
    kind,
    varying(h("div", { class: "fields" }), ({ scenario }) => scenario.limit.kind, ({ scenario }) => kinds[scenario.limit.kind]()),
    rate("Other callers", change, of(({ strangers }) => strangers, (_, strangers) => ({ strangers: strangers && strangers.calls > 0 ? strangers : null })), "none"),
  ];
}

function events(change: Change<State>): Field<State> {
  const list = h("ul", { class: "events" });
  const point = h("input", { type: "number", min: 0, step: "any", value: 60, "aria-label": "Time in seconds" });
  const what = h("select", { "aria-label": "What happens" },
    h("option", { value: "0.5" }, "the limit halves"), h("option", { value: "2" }, "the limit doubles"), h("option", { value: "0.1" }, "the limit falls to a tenth"),
    h("option", { value: "fail" }, "an outage begins"));
  const length = h("input", { type: "number", min: 0.001, step: "any", value: 60, "aria-label": "Length of the outage in seconds" });
  const lasts = h("span", { hidden: true }, " for ", length, " s");
  what.addEventListener("change", () => { lasts.hidden = what.value !== "fail"; });
  const add = button("Add", () => {
    const at = Math.round(point.valueAsNumber * SECOND);
    if (!(at >= 0)) return;
    change((state) => ({ ...state, scenario: what.value === "fail"
      ? fail(state.scenario, at, Math.max(1, Math.round((length.valueAsNumber || 60) * SECOND)))
      : scale(state.scenario, at, Number(what.value)) }));
  }, "Add the event");
  const note = h("p", { class: "note" });
  const element = h("div", {}, list, h("p", { class: "add" }, "At ", point, " s ", what, lasts, " ", add), note);
  return {
    element,
    sync: ({ scenario }) => {
      note.textContent = noSteps(scenario.limit) ?? "";
      note.hidden = note.textContent === "";
      const all = happenings(scenario);
      const key = all.map(({ at, words }) => `${at} ${words}`).join(";");
      if (list.dataset.key === key) return;
      list.dataset.key = key;
      const shown = all.slice(0, 40).map(({ at, words, without }) => h("li", {},
        h("span", {}, h("b", {}, spoken(at)), ` ${words}`),
        button("×", () => change((state) => ({ ...state, scenario: without })), `Remove: ${spoken(at)} ${words}`)));
      list.replaceChildren(...(shown.length ? shown : [h("li", { class: "note" }, "None yet.")]));
    },
  };
}

const LATENCIES = [["uniform", "uniform"], ["constant", "constant"], ["exponential", "exponential"], ["lognormal", "lognormal"]] as const;

function latency(kind: Latency["kind"]): Latency {
  switch (kind) {
    case "constant": return { kind, time: 50_000 };
    case "uniform": return { kind, least: 25_000, most: 75_000 };
    case "exponential": return { kind, mean: 50_000 };
    case "lognormal": return { kind, median: 40_000, sigma: 0.5 };
  }
}

function world(change: Change<State>): Field<State>[] {
  const is = <L extends Latency, T>(get: (latency: L) => T, set: (latency: L, value: T) => L) =>
    of((scenario) => get(scenario.latency as L), (scenario, value: T) => ({ latency: set(scenario.latency as L, value) }));
  type Kind<K> = Extract<Latency, { kind: K }>;
  const kinds: Record<Latency["kind"], () => Field<State>[]> = {
    uniform: () => [
      time("From", change, is<Kind<"uniform">, Time | null>(({ least }) => least, (l, least) => ({ ...l, least: least!, most: Math.max(least!, l.most) }))),
      time("To", change, is<Kind<"uniform">, Time | null>(({ most }) => most, (l, most) => ({ ...l, most: most!, least: Math.min(most!, l.least) }))),
    ],
    constant: () => [time("Latency", change, is<Kind<"constant">, Time | null>(({ time }) => time, (l, time) => ({ ...l, time: time! })))],
    exponential: () => [time("Mean", change, is<Kind<"exponential">, Time | null>(({ mean }) => mean, (l, mean) => ({ ...l, mean: mean! })))],
    lognormal: () => [
      time("Median", change, is<Kind<"lognormal">, Time | null>(({ median }) => median, (l, median) => ({ ...l, median: median! }))),
      number("Sigma", change, is<Kind<"lognormal">, number>(({ sigma }) => sigma, (l, sigma) => ({ ...l, sigma })), { most: 10, step: "any" }),
    ],
  };
  return [
    time("Length of the run", change, of((s): Time | null => s.end, (s, end) => ({ end: end!, bin: bins(end!, s.bin) })), { least: SECOND }),
    choice("One-way latency", change, of(({ latency }) => latency.kind, (_, kind: Latency["kind"]) => ({ latency: latency(kind) })), LATENCIES),
    varying(h("div", { class: "fields" }), ({ scenario }) => scenario.latency.kind, ({ scenario }) => kinds[scenario.latency.kind]()),
    number("Seed", change, { get: ({ seed }) => seed, set: (state, seed) => ({ ...state, seed }) }, { most: Number.MAX_SAFE_INTEGER }),
    fixed(h("p", { class: "note" }, "The same scenario, law and seed give the same run on every machine.")),
  ];
}

/** The bin width for a run of this length: unchanged if that gives a sensible number of bins. */
function bins(end: Time, before: Time): Time {
  const fits = (bin: Time) => end / bin >= 200 && end / bin <= 100_000;
  return fits(before) ? before : ([SECOND, 100_000, 10 * SECOND, MINUTE, 10 * MINUTE, HOUR].find(fits) ?? (end < 20 * SECOND ? 10_000 : 24 * HOUR));
}

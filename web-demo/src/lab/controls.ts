/** The controls: the server, its callers and the world. They show the state and request changes. */

import { changed, happenings, noSteps } from "./changes";
import { h } from "./dom";
import { button, choice, elements, fixed, make, number, rate, time, variant, varying, type Alternative, type Change, type Field, type Make } from "./fields";
import type { Group, State } from "./state";
import { SECOND, spoken } from "./units";
import { whatClients } from "./words";

const wide = matchMedia("(min-width: 60rem)");

export function controls(change: Change, laws: string[]): Field {
  const sections: [string, Field[], boolean][] = [
    ["Server", make(SERVER, change, ["scenario", "server"]), true],
    ["Hints in responses", make(HINTS, change, ["scenario", "server", "hints"]), false],
    ["Clients", groups(change, laws), true],
    ["Events", [events(change)], true],
    ["World", [...make(WORLD, change, []), fixed(h("p", { class: "note" }, "The same scenario, law and seed give the same run on every machine."))], false],
  ];
  const element = h("div", { class: "controls" }, ...sections.map(([title, fields, open]) =>
    h("details", { open: open && wide.matches }, h("summary", {}, title), h("div", { class: "fields" }, ...elements(fields)))));
  const all = sections.flatMap(([, fields]) => fields);
  return { element, sync: (state) => all.forEach((field) => field.sync(state)) };
}

const SERVER: Make[] = [
  variant("Kind", "", {
    bucket: ["token bucket", { bucket: { burst: 20, rate: "10/s" } }, [
      rate("Limit", "bucket.rate"), number("Burst", "bucket.burst", { least: 1, most: 1e6, unit: "calls" }),
      number("Tokens at start", "bucket.start", { most: 1e6, empty: "full" }),
    ]],
    window: ["fixed window", { window: { limit: 100, width: "1min" } }, [
      number("Limit", "window.limit", { least: 1, most: 1e6, unit: "calls" }), time("Per", "window.width", { least: 1_000 }),
    ]],
    queue: ["workers and a queue", { queue: { workers: 4, places: 16, service: "200ms" } }, [
      number("Workers", "queue.workers", { least: 1, most: 10_000 }), number("Queue length", "queue.places", { most: 100_000 }),
      time("A call takes", "queue.service", { least: 1 }),
    ]],
    autoscaling: ["autoscaling", { autoscaling: { least: "10/s", most: "40/s", target: 0.7, period: "1min", credit: "5min" } }, [
      rate("At least", "autoscaling.least"), rate("At most", "autoscaling.most"),
      number("Target use", "autoscaling.target", { least: 1, most: 100, times: 100, unit: "%" }),
      time("Adjusts every", "autoscaling.period", { least: 1_000 }), time("Credit of", "autoscaling.credit", { least: 1_000 }),
    ]],
  }),
  rate("Other callers", "strangers", { empty: "none", positive: true }),
];

/** A number in the responses: nothing, the truth, a multiple of it, or a fixed lie. */
const hint = (name: string, key: string, lie: unknown, ...fields: Make[]): Make => variant(name, key, {
  absent: ["not sent", undefined, []],
  honest: ["true", "honest", []],
  times: ["a multiple", { times: 2 }, [number(`${name} ×`, "times", { most: 1e6, step: "any" })]],
  always: ["a fixed lie", { always: lie }, fields],
}, "fields inner");

const HINTS: Make[] = [
  hint("Retry-After", "retry_after", "10s", time("Retry-After: always", "always")),
  hint("Remaining", "remaining", 5, number("Remaining: always", "always", { unit: "calls" })),
  hint("Reset", "reset", "10s", time("Reset: always", "always")),
  hint("Limit and period", "quota", { limit: 1_000, period: "1min" },
    number("Limit and period: always", "always.limit", { unit: "calls" }), time("per", "always.period", { least: 1 })),
];

const LATENCIES: Record<string, Alternative> = {
  uniform: ["uniform", { uniform: ["25ms", "75ms"] }, [time("From", "uniform.0"), time("To", "uniform.1")]],
  constant: ["constant", { constant: "50ms" }, [time("Latency", "constant")]],
  exponential: ["exponential", { exponential: "50ms" }, [time("Mean", "exponential")]],
  lognormal: ["lognormal", { lognormal: { median: "40ms", sigma: 0.5 } }, [
    time("Median", "lognormal.median"), number("Sigma", "lognormal.sigma", { most: 10, step: "any" }),
  ]],
};

const WORLD: Make[] = [
  time("Length of the run", "scenario.end", { least: SECOND }),
  variant("One-way latency", "scenario.latency", LATENCIES),
  number("Seed", "seed", { most: Number.MAX_SAFE_INTEGER }),
];

const PROGRAMS: Make[] = [
  number("Programs", "processes", { least: 1, most: 2_000, usual: 1 }),
  number("Workers in each", "threads", { least: 1, most: 1_000, usual: 1 }),
];

const GROUP: Make[] = [
  ...PROGRAMS,
  variant("Demand per worker", "demand", {
    closed: ["unlimited", undefined, []],
    work: ["a fixed job", { work: 1_000 }, [number("Calls per worker", "work", { least: 1 })]],
    poisson: ["random", { poisson: "2/s" }, [rate("Calls per worker", "poisson")]],
    think: ["with pauses", { think: "1s" }, [time("Mean pause", "think")]],
    on_off: ["on and off", { on_off: { on: "30s", off: "1min" } }, [time("On for", "on_off.on", { least: 1_000 }), time("Off for", "on_off.off")]],
  }),
];

/** The groups of clients: how many, what they request, when they are present, and their law. */
function groups(change: Change, laws: string[]): Field[] {
  const regroup = (edit: (clients: Group[]) => Group[]) =>
    change((state) => ({ ...state, scenario: changed({ ...state.scenario, clients: edit(state.scenario.clients) }) }));
  const own = ({ scenario }: State) => Object.keys(scenario.laws ?? {});
  const list = varying(h("div", { class: "groups" }), (state) => [state.scenario.clients.length, ...own(state)].join(), (state) => {
    const all = state.scenario.clients;
    return all.map((_, index) => group(change, [...laws, ...own(state)], index, all.length > 1 && (() => regroup((clients) => clients.filter((_, other) => other !== index)))));
  });
  const add = button("Add a group", () => regroup((clients) => [...clients, { ...clients.at(-1)! }]));
  return [list, fixed(add)];
}

function group(change: Change, laws: string[], index: number, remove: false | (() => void)): Field {
  const base = ["scenario", "clients", index];
  const main = make(GROUP, change, base);
  const more = make([
    time("Join at", "from", { empty: "start" }), time("Leave at", "to", { empty: "end" }),
    choice("Law", "law", [["", "the lane’s"], ...laws.map((law) => [law, law] as const)]), time("Deadline", "deadline", { least: 1_000, empty: "none" }),
  ], change, base);
  const legend = h("legend");
  const element = h("fieldset", {}, legend, ...elements(main),
    h("details", { class: "more" }, h("summary", {}, "Times, law and deadline"), h("div", { class: "fields" }, ...elements(more))),
    remove && button("Remove the group", remove));
  return {
    element,
    sync: (state) => {
      const group = state.scenario.clients[index];
      if (!group) return;
      legend.textContent = whatClients(group);
      for (const field of [...main, ...more]) field.sync(state);
    },
  };
}

function events(change: Change): Field {
  const list = h("ul", { class: "events" });
  const note = h("p", { class: "note" });
  const element = h("div", {}, list, note);
  return {
    element,
    sync: ({ scenario }) => {
      note.textContent = noSteps(scenario.server) ?? "";
      note.hidden = note.textContent === "";
      const all = happenings(scenario);
      const key = all.map(({ at, words }) => `${at} ${words}`).join(";");
      if (list.dataset.key === key) return;
      list.dataset.key = key;
      const shown = all.slice(0, 40).map(({ at, words }, index) => h("li", {},
        h("span", {}, h("b", {}, spoken(at)), ` ${words}`),
        button("×", () => change((state) => ({ ...state, scenario: happenings(state.scenario)[index]?.without ?? state.scenario })), `Remove: ${spoken(at)} ${words}`)));
      list.replaceChildren(...(shown.length ? shown : [h("li", { class: "note" }, "None. The buttons above the plots add some.")]));
    },
  };
}

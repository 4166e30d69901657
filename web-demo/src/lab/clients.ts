/** The groups of clients: how many, what they request, when they are present, and their law. */

import { h } from "./dom";
import { button, choice, fixed, flag, number, rate, time, varying, type Change, type Field } from "./fields";
import { changed, type Demand, type Group, type State } from "./state";
import { SECOND, type Time } from "./units";
import { whatClients } from "./words";

const DEMANDS = [
  ["closed", "continuous"], ["work", "a fixed job"], ["poisson", "random"], ["think", "with pauses"], ["on_off", "on and off"],
] as const;

function demand(kind: Demand["kind"]): Demand {
  switch (kind) {
    case "closed": return { kind };
    case "work": return { kind, calls: 1_000 };
    case "poisson": return { kind, rate: { calls: 2, per: "s" } };
    case "think": return { kind, time: SECOND };
    case "on_off": return { kind, on: 30 * SECOND, off: 60 * SECOND };
  }
}

export function groups(change: Change<State>, laws: string[]): Field<State>[] {
  const regroup = (edit: (clients: Group[]) => Group[]) =>
    change((state) => ({ ...state, scenario: changed(state.scenario, { clients: edit(state.scenario.clients) }) }));
  const list = varying<State>(h("div", { class: "groups" }),
    ({ scenario }) => [...scenario.clients.map((group) => group.demand.kind), ...scenario.own.map(({ name }) => name)].join(),
    ({ scenario }) => scenario.clients.map((_, index) => group(change, [...laws, ...scenario.own.map(({ name }) => name)], index, scenario.clients.length > 1, () => regroup((clients) => clients.filter((_, other) => other !== index)))));
  const add = button("Add a group", () => regroup((clients) => [...clients, { ...clients.at(-1)! }]));
  const done = flag<State>("End the run when all jobs are done", change, {
    get: ({ scenario }) => scenario.stopWhenDone,
    set: (state, stopWhenDone) => ({ ...state, scenario: changed(state.scenario, { stopWhenDone }) }),
  });
  return [list, fixed(add), {
    element: done.element,
    sync: (state) => { done.element.hidden = !state.scenario.clients.some((group) => group.demand.kind === "work"); done.sync(state); },
  }];
}

function group(change: Change<State>, laws: string[], index: number, removable: boolean, remove: () => void): Field<State> {
  const own = <T>(get: (group: Group) => T, set: (group: Group, value: T) => Partial<Group>) => ({
    get: ({ scenario }: State) => get(scenario.clients[index]!),
    set: (state: State, value: T): State => {
      const clients = state.scenario.clients.map((group, other) => (other === index ? { ...group, ...set(group, value) } : group));
      return { ...state, scenario: changed(state.scenario, { clients }) };
    },
  });
  type Kind<K> = Extract<Demand, { kind: K }>;
  const wants = <D extends Demand, T>(get: (demand: D) => T, set: (demand: D, value: T) => D) =>
    own((group) => get(group.demand as D), (group, value: T) => ({ demand: set(group.demand as D, value) }));
  const kinds: Record<Demand["kind"], () => Field<State>[]> = {
    closed: () => [],
    work: () => [number("Calls per worker", change, wants<Kind<"work">, number>(({ calls }) => calls, (d, calls) => ({ ...d, calls })), { least: 1 })],
    poisson: () => [rate("Calls per worker", change, wants<Kind<"poisson">, Kind<"poisson">["rate"] | null>(({ rate }) => rate, (d, rate) => (rate && rate.calls > 0 ? { ...d, rate } : d)))],
    think: () => [time("Mean pause", change, wants<Kind<"think">, Time | null>(({ time }) => time, (d, time) => ({ ...d, time: time! })))],
    on_off: () => [
      time("On for", change, wants<Kind<"on_off">, Time | null>(({ on }) => on, (d, on) => ({ ...d, on: on! })), { least: 1_000 }),
      time("Off for", change, wants<Kind<"on_off">, Time | null>(({ off }) => off, (d, off) => ({ ...d, off: off! }))),
    ],
  };
  const demanded = varying<State>(h("div", { class: "fields" }), ({ scenario }) => scenario.clients[index]?.demand.kind ?? "", ({ scenario }) => kinds[scenario.clients[index]!.demand.kind]());
  const main: Field<State>[] = [
    number("Programs", change, own(({ processes }) => processes, (_, processes: number) => ({ processes })), { least: 1, most: 2_000 }),
    number("Workers in each", change, own(({ threads }) => threads, (_, threads: number) => ({ threads })), { least: 1, most: 1_000 }),
    choice("Load", change, own(({ demand }) => demand.kind, (_, kind: Demand["kind"]) => ({ demand: demand(kind) })), DEMANDS),
    demanded,
  ];
  const more: Field<State>[] = [
    time("Join at", change, own(({ from }): Time | null => from || null, (_, from) => ({ from: from ?? 0 })), { empty: "start" }),
    time("Leave at", change, own(({ to }) => to, (_, to) => ({ to })), { empty: "end" }),
    choice("Law", change, own(({ law }) => law ?? "", (_, law: string) => ({ law: law || null })), [["", "the lane’s"], ...laws.map((law) => [law, law] as const)]),
    time("Deadline", change, own(({ deadline }) => deadline, (_, deadline) => ({ deadline })), { least: 1_000, empty: "none" }),
  ];
  const legend = h("legend");
  const element = h("fieldset", {}, legend, ...main.map((field) => field.element),
    h("details", { class: "more" }, h("summary", {}, "Times, law and deadline"), h("div", { class: "fields" }, ...more.map((field) => field.element))),
    removable && button("Remove the group", remove));
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

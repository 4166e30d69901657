/** A scenario's custom laws: a law of the package with other parameters, under a name that can run beside the others. */

import { changed } from "./changes";
import { h } from "./dom";
import { button, choice, elements, fixed, make, text, varying, type Change, type Field, type Make } from "./fields";
import { MOST_LAWS, programsOf, type Scenario, type State } from "./state";
import { HOUR, decimal, rate, time } from "./units";

/** A parameter whose values are numbers of a scenario file. */
const amount = (label: string, name: string, usual: string): Make => text(label, name, usual, Number);
/** A parameter whose values are texts of a scenario file: a time or a rate. */
const quoted = (label: string, name: string, usual: string): Make => text(label, name, usual, String);

/** The laws with parameters: what their buttons say, and the parameters. */
const KINDS: Record<string, [string, Make[]]> = {
  fixed: ["Fixed rate", [quoted("Rate", "rate", "10/s"), amount("Burst", "burst", "1")]],
  backoff: ["Backoff", [
    quoted("First delay", "base", "100ms"), quoted("Longest delay", "most", "20s"), amount("Factor", "factor", "2"),
    choice("Jitter", "jitter", [["", "default"], ["full", "full"], ["equal", "equal"], ["none", "none"]]), amount("Attempts", "attempts", "unlimited"),
  ]],
};

export type OwnLaws = NonNullable<Scenario["laws"]>;

export function ownLaws(change: Change): Field[] {
  const laws = ({ scenario }: State): OwnLaws => scenario.laws ?? {};
  const list = varying(h("div", { class: "groups" }),
    (state) => Object.entries(laws(state)).map(([name, law]) => `${name} ${Object.keys(law)}`).join(),
    (state) => Object.entries(laws(state)).map(([name, law]) => own(change, name, Object.keys(law)[0]!)));
  const add = h("p", { class: "buttons" }, ...Object.entries(KINDS).map(([kind, [words]]) => button(words, () => change((state) => added(state, kind)))));
  return [list, fixed(add)];
}

function own(change: Change, name: string, kind: string): Field {
  const fields = make(KINDS[kind]?.[1] ?? [], change, ["scenario", "laws", name, kind]);
  return {
    element: h("fieldset", {}, h("legend", {}, name), ...elements(fields), button("Remove", () => change((state) => without(state, name)), `Remove ${name}`)),
    sync: (state) => fields.forEach((field) => field.sync(state)),
  };
}

/** Adds a law and runs it at once if there is room. A fixed law gets an even share of the limit. */
function added(state: State, kind: string): State {
  const { laws = {}, ...scenario } = state.scenario;
  const names = [`my-${kind}`, ...Array.from({ length: 99 }, (_, index) => `my-${kind}-${index + 2}`)];
  const name = names.find((name) => !Object.hasOwn(laws, name))!;
  const law = { [kind]: kind === "fixed" ? { rate: share(scenario) } : {} };
  return {
    ...state, laws: [...state.laws.slice(0, MOST_LAWS - 1), name],
    scenario: changed({ ...scenario, laws: { ...laws, [name]: law } }),
  };
}

/** An even share of the limit, if the limit is a rate. */
function share({ server: { bucket, window }, clients }: Scenario): string {
  const programs = clients.reduce((sum, group) => sum + programsOf(group), 0);
  const each = (calls: number, per: string) => `${decimal(calls / programs)}/${per}`;
  if (bucket) return each(rate(bucket.rate).calls, rate(bucket.rate).per);
  return window ? each((window.limit * HOUR) / time(window.width), "h") : "10/s";
}

function without(state: State, name: string): State {
  const laws = state.laws.filter((law) => law !== name);
  const { [name]: _, ...others } = state.scenario.laws ?? {};
  const clients = state.scenario.clients.map(({ law, ...group }) => (law === undefined || law === name ? group : { ...group, law }));
  return { ...state, laws: laws.length ? laws : ["adaptive"], scenario: changed({ ...state.scenario, laws: others, clients }) };
}

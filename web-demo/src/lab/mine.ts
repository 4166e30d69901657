/** Custom laws: a fixed rate, or a backoff with the settings of the reader's program. */

import { fresh, h } from "./dom";
import { button, fixed, type Change, type Field, varying } from "./fields";
import { MOST_LAWS, changed, type Limit, type State } from "./state";
import { freshName, parameter, parametersOf, type Kind, type OwnLaw } from "./ownlaws";
import { Fault, HOUR, decimal } from "./units";

const ADD: [Kind, string][] = [["fixed", "Fixed rate"], ["backoff", "Backoff"], ["autosleeper", "AutoSleeper"], ["tchannel", "TChannel"]];

export function mine(change: Change<State>): Field<State>[] {
  const list = varying<State>(h("div", { class: "groups" }),
    ({ scenario }) => scenario.own.map(({ name, kind }) => `${name} ${kind}`).join(),
    ({ scenario }) => scenario.own.map((law, index) => own(change, law, index)));
  const add = h("p", { class: "buttons" }, ...ADD.map(([kind, words]) => button(words, () => change((state) => added(state, kind)))));
  return [list, fixed(add)];
}

/** Adds a law and runs it at once if there is room. A fixed law gets an even share of the limit. */
function added(state: State, kind: Kind): State {
  const { scenario } = state;
  const name = freshName(kind, scenario.own);
  const programs = scenario.clients.reduce((sum, group) => sum + group.processes, 0);
  const parameters: Record<string, string> = kind === "fixed" ? { rate: share(scenario.limit, programs) } : {};
  const law: OwnLaw = { name, kind, parameters };
  const laws = state.laws.length < MOST_LAWS ? [...state.laws, name] : [...state.laws.slice(0, -1), name];
  return { ...state, laws, scenario: changed(scenario, { own: [...scenario.own, law] }) };
}

/** An even share of the limit, if the limit is a rate. */
function share(limit: Limit, programs: number): string {
  if (limit.kind === "bucket") return `${decimal(limit.rate.calls / programs)}/${limit.rate.per}`;
  if (limit.kind === "window") return `${decimal((limit.limit * HOUR) / limit.width / programs)}/h`;
  return "10/s";
}

function without(state: State, name: string): State {
  const laws = state.laws.filter((law) => law !== name);
  const { own, clients } = state.scenario;
  return {
    ...state, laws: laws.length ? laws : ["adaptive"],
    scenario: changed(state.scenario, {
      own: own.filter((law) => law.name !== name),
      clients: clients.map((group) => (group.law === name ? { ...group, law: null } : group)),
    }),
  };
}

function own(change: Change<State>, { name, kind }: OwnLaw, index: number): Field<State> {
  const fields = parametersOf(kind).map(([key, type, words, usual]): Field<State> => {
    const id = fresh();
    const choices = typeof type !== "string" ? type : null;
    const control = choices
      ? h("select", { id }, h("option", { value: "" }, "default"), ...choices.map((choice) => h("option", { value: choice }, choice)))
      : h("input", { type: "text", id, placeholder: usual || "default", autocomplete: "off", spellcheck: "false" });
    control.addEventListener(choices ? "change" : "input", () => {
      const text = control.value.trim();
      try {
        const value = text === "" ? null : parameter(kind, key, text);
        if (value === null && key === "rate") throw new Fault("a fixed law needs a rate");
        control.setCustomValidity("");
        change((state) => ({ ...state, scenario: changed(state.scenario, { own: state.scenario.own.map((law, other) => {
          if (other !== index) return law;
          const { [key]: _, ...rest } = law.parameters;
          return { ...law, parameters: value === null ? rest : { ...rest, [key]: value } };
        }) }) }));
      } catch (error) {
        if (!(error instanceof Fault)) throw error;
        control.setCustomValidity(error.message);
        control.reportValidity();
      }
    });
    return {
      element: h("div", { class: "field" }, h("label", { for: id }, words), h("span", {}, control)),
      sync: ({ scenario }) => { if (document.activeElement !== control) control.value = scenario.own[index]?.parameters[key] ?? ""; },
    };
  });
  return {
    element: h("fieldset", {}, h("legend", {}, name), ...fields.map((field) => field.element), button("Remove", () => change((state) => without(state, name)), `Remove ${name}`)),
    sync: (state) => fields.forEach((field) => field.sync(state)),
  };
}

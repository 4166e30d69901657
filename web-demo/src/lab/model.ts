/** "Model my API": which API, how many clients call it, and how often. */

import { h } from "./dom";
import { fixed, number, rate, type Change, type Field } from "./fields";
import { MODELS, modelOf, modelled } from "./models";
import { changed, type Group, type State } from "./state";

const first = <T>(get: (group: Group) => T, set: (group: Group, value: T) => Partial<Group>) => ({
  get: ({ scenario }: State) => get(scenario.clients[0]!),
  set: (state: State, value: T): State => {
    const [group, ...others] = state.scenario.clients as [Group, ...Group[]];
    return { ...state, scenario: changed(state.scenario, { clients: [{ ...group, ...set(group, value) }, ...others] }) };
  },
});

export function model(change: Change<State>): Field<State> {
  const buttons = MODELS.map((each) =>
    h("button", { type: "button", "data-model": each.name, onclick: () => change((state) => modelled(state, each)) }, each.title));
  const fields: Field<State>[] = [
    number("Programs", change, first(({ processes }) => processes, (_, processes: number) => ({ processes })), { least: 1, most: 2_000 }),
    number("Workers in each", change, first(({ threads }) => threads, (_, threads: number) => ({ threads })), { least: 1, most: 1_000 }),
    rate("Each worker wants", change, first(
      ({ demand }) => (demand.kind === "poisson" ? demand.rate : null),
      (_, rate) => ({ demand: rate && rate.calls > 0 ? { kind: "poisson", rate } : { kind: "closed" } }),
    ), "all it can"),
    fixed(h("p", { class: "note" }, "Limits of one common plan each. Yours may differ: change anything below.")),
  ];
  const element = h("div", { class: "model" }, h("h3", {}, "Model my API"),
    h("div", { class: "presets", role: "group", "aria-label": "APIs" }, ...buttons),
    h("div", { class: "controls fields" }, ...fields.map((field) => field.element)));
  return {
    element,
    sync: (state) => {
      const now = modelOf(state)?.name;
      for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.model === now));
      for (const field of fields) field.sync(state);
    },
  };
}

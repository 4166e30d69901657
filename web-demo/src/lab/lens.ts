import { changed, type Scenario, type State } from "./state";

/** A part of the scenario as a part of the state: what it is, and a state with another. */
export const of = <T>(get: (scenario: Scenario) => T, set: (scenario: Scenario, value: T) => Partial<Scenario>) => ({
  get: (state: State) => get(state.scenario),
  set: (state: State, value: T): State => ({ ...state, scenario: changed(state.scenario, set(state.scenario, value)) }),
});

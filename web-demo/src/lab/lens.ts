import { changed, type Scenario, type State } from "./state";

/** Lifts a getter and setter of the scenario to the state. */
export const of = <T>(get: (scenario: Scenario) => T, set: (scenario: Scenario, value: T) => Partial<Scenario>) => ({
  get: (state: State) => get(state.scenario),
  set: (state: State, value: T): State => ({ ...state, scenario: changed(state.scenario, set(state.scenario, value)) }),
});

/** What the server's responses say: nothing, the truth, a multiple of it, or a fixed lie. */

import { h } from "./dom";
import { choice, number, time, varying, type Change, type Field } from "./fields";
import { of } from "./lens";
import type { Hints, Honesty, Quota, State } from "./state";
import { MINUTE, SECOND, type Time } from "./units";

const HOW = [["absent", "not sent"], ["honest", "true"], ["times", "a multiple"], ["always", "a fixed lie"]] as const;
type How = (typeof HOW)[number][0];

const how = (told: Honesty<unknown>): How => (typeof told === "string" ? told : "times" in told ? "times" : "always");

/** The title of each hint, and the default lie. */
const HINTS: { [K in keyof Hints]: [string, Extract<Hints[K], { always: unknown }>["always"]] } = {
  retryAfter: ["Retry-After", 10 * SECOND],
  remaining: ["Remaining", 5],
  reset: ["Reset", 10 * SECOND],
  quota: ["Limit and period", { limit: 1_000, period: MINUTE }],
};

export function hints(change: Change<State>): Field<State>[] {
  return (Object.keys(HINTS) as (keyof Hints)[]).flatMap((key) => hint(change, key));
}

function hint<K extends keyof Hints>(change: Change<State>, key: K): Field<State>[] {
  const [name, lie] = HINTS[key];
  const told = of(({ hints }): Honesty<unknown> => hints[key], ({ hints }, value) => ({ hints: { ...hints, [key]: value } }));
  const chosen = {
    get: (state: State) => how(told.get(state)),
    set: (state: State, value: How) => told.set(state, value === "times" ? { times: 2 } : value === "always" ? { always: lie } : value),
  };
  const value = <T>(get: (told: never) => T, set: (told: never, value: T) => Honesty<unknown>) => ({
    get: (state: State) => get(told.get(state) as never),
    set: (state: State, value: T) => told.set(state, set(told.get(state) as never, value)),
  });
  const fields: Record<How, () => Field<State>[]> = {
    absent: () => [],
    honest: () => [],
    times: () => [number(`${name} ×`, change, value(({ times }: { times: number }) => times, (_, times) => ({ times })), { most: 1e6, step: "any" })],
    always: () => {
      if (key === "remaining") {
        return [number(`${name}: always`, change, value(({ always }: { always: number }) => always, (_, always) => ({ always })), {}, "calls")];
      }
      if (key !== "quota") {
        return [time(`${name}: always`, change, value(({ always }: { always: Time }): Time | null => always, (_, always) => ({ always })))];
      }
      return [
        number(`${name}: always`, change, value(({ always }: { always: Quota }) => always.limit, ({ always }: { always: Quota }, limit) => ({ always: { ...always, limit } })), {}, "calls"),
        time("per", change, value(({ always }: { always: Quota }): Time | null => always.period, ({ always }: { always: Quota }, period) => ({ always: { ...always, period } })), { least: 1 }),
      ];
    },
  };
  return [
    choice(name, change, chosen, HOW),
    varying(h("div", { class: "fields inner" }), (state) => how(told.get(state)), (state) => fields[how(told.get(state))]()),
  ];
}

/**
 * Widely used APIs, with the limits that their documentation describes. Plans and endpoints differ:
 * each is a starting point.
 */

import { changed, scenario, type Group, type Hints, type Limit, type State } from "./state";
import { NO_GATE } from "./laws";
import { HOUR, MINUTE, SECOND, type Time } from "./units";

export interface Model { name: string; title: string; limit: Limit; hints: Hints; end: Time; bin: Time; laws?: string[] }

const SILENT: Hints = { retryAfter: "absent", remaining: "absent", reset: "absent", quota: "absent" };
const TOLD: Hints = { retryAfter: "absent", remaining: "honest", reset: "honest", quota: "honest" };

const bucket = (burst: number, calls: number, per: "s" | "min"): Limit => ({ kind: "bucket", burst, rate: { calls, per }, start: null, steps: [] });

export const MODELS: Model[] = [
  { name: "github", title: "GitHub REST: 5000 an hour", limit: { kind: "window", limit: 5_000, width: HOUR, phase: null }, hints: TOLD, end: 2 * HOUR, bin: 10 * SECOND },
  { name: "openai", title: "OpenAI: 500 a minute", limit: bucket(500, 500, "min"), hints: TOLD, end: 20 * MINUTE, bin: SECOND },
  { name: "anthropic", title: "Anthropic: 50 a minute", limit: bucket(50, 50, "min"), hints: { ...TOLD, retryAfter: "honest" }, end: 20 * MINUTE, bin: SECOND },
  { name: "stripe", title: "Stripe: 100 a second", limit: bucket(100, 100, "s"), hints: SILENT, end: 5 * MINUTE, bin: SECOND },
  { name: "shopify", title: "Shopify REST: 2 a second, 40 at once", limit: bucket(40, 2, "s"), hints: { ...SILENT, retryAfter: "honest", remaining: "honest" }, end: 20 * MINUTE, bin: SECOND },
  { name: "aws", title: "AWS EC2 reads: 20 a second, 100 at once", limit: bucket(100, 20, "s"), hints: SILENT, end: 10 * MINUTE, bin: SECOND },
  {
    name: "pool", title: "A database pool: 20 connections", limit: { kind: "queue", workers: 20, places: 100, service: 50_000, steps: [] }, hints: SILENT,
    end: 5 * MINUTE, bin: SECOND, laws: [NO_GATE, "backoff", "adaptive", "adaptive+vegas"],
  },
];

/** The model that a state was made from, for any number of clients. */
export const modelOf = ({ scenario: { limit, hints } }: State): Model | undefined =>
  MODELS.find((model) => JSON.stringify([model.limit, model.hints]) === JSON.stringify([limit, hints]));

/** Puts a model into the laboratory and keeps the present clients. */
export function modelled(state: State, { limit, hints, end, bin, laws }: Model): State {
  const [group] = state.scenario.clients as [Group];
  return {
    ...state, base: "", at: null, laws: laws ?? [NO_GATE, "backoff", "adaptive"],
    scenario: changed(scenario(), { limit, hints, end, bin, clients: [{ ...group, from: 0, to: null, law: null }] }),
  };
}

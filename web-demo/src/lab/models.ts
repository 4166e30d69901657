/**
 * "Model my API": widely used APIs, with the limits that their documentation describes. Plans and
 * endpoints differ: each is a starting point.
 */

import { changed } from "./changes";
import { FIRST } from "./controls";
import { h } from "./dom";
import { elements, fixed, make, type Change, type Field } from "./fields";
import { NO_GATE } from "./laws";
import type { Group, Server, State } from "./state";

interface Model { name: string; title: string; server: Server; end: string; bin?: string; laws?: string[] }

const TOLD = { remaining: "honest", reset: "honest", quota: "honest" };

const MODELS: Model[] = [
  { name: "github", title: "GitHub REST: 5000 an hour", server: { window: { limit: 5_000, width: "1h" }, hints: TOLD }, end: "2h", bin: "10s" },
  { name: "openai", title: "OpenAI: 500 a minute", server: { bucket: { burst: 500, rate: "500/min" }, hints: TOLD }, end: "20min" },
  { name: "anthropic", title: "Anthropic: 50 a minute", server: { bucket: { burst: 50, rate: "50/min" }, hints: { retry_after: "honest", ...TOLD } }, end: "20min" },
  { name: "stripe", title: "Stripe: 100 a second", server: { bucket: { burst: 100, rate: "100/s" } }, end: "5min" },
  {
    name: "shopify", title: "Shopify REST: 2 a second, 40 at once",
    server: { bucket: { burst: 40, rate: "2/s" }, hints: { retry_after: "honest", remaining: "honest" } }, end: "20min",
  },
  { name: "aws", title: "AWS EC2 reads: 20 a second, 100 at once", server: { bucket: { burst: 100, rate: "20/s" } }, end: "10min" },
  {
    name: "pool", title: "A database pool: 20 connections", server: { queue: { workers: 20, places: 100, service: "50ms" } },
    end: "5min", laws: [NO_GATE, "backoff", "adaptive", "adaptive+vegas"],
  },
];

/** The model that a state was made from, for any number of clients. */
export const modelOf = ({ scenario: { server } }: State): Model | undefined =>
  MODELS.find((model) => JSON.stringify(model.server) === JSON.stringify(server));

/** Puts a model into the laboratory and keeps the present clients. */
function modelled(state: State, { server, end, bin, laws = [NO_GATE, "backoff", "adaptive"] }: Model): State {
  const { from, to, law, ...group } = state.scenario.clients[0] as Group;
  return { ...state, base: "", at: null, laws, scenario: changed({ end, ...(bin && { bin }), server, clients: [group] }) };
}

/** Which API, how many clients call it, and how often. */
export function model(change: Change): Field {
  const buttons = MODELS.map((each) =>
    h("button", { type: "button", "data-model": each.name, onclick: () => change((state) => modelled(state, each)) }, each.title));
  const note = fixed(h("p", { class: "note" }, "Limits of one common plan each. Yours may differ: change anything below."));
  const fields = [...make(FIRST, change, ["scenario", "clients", 0]), note];
  const element = h("div", { class: "model" }, h("h3", {}, "Model my API"),
    h("div", { class: "presets", role: "group", "aria-label": "APIs" }, ...buttons),
    h("div", { class: "controls fields" }, ...elements(fields)));
  return {
    element,
    sync: (state) => {
      const now = modelOf(state)?.name;
      for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.model === now));
      for (const field of fields) field.sync(state);
    },
  };
}

/** The presets: widely used APIs, with the limits that their documentation describes, and scenario files of the repository. */

import type { Engine } from "../engine";
import { USUAL, type Scenario, type State } from "./state";
import { Fault } from "./units";

/** The part of the engine that reads and writes scenario files. */
export type Files = Pick<Engine, "parse" | "print">;

export interface Preset {
  name: string;
  title: string;
  /** What to look for, and what to change. */
  hint: string;
  laws: string[];
  /** The scenario, if it is not the file of this name. */
  file?: string;
}

const HINTS = 'remaining = "honest"\nreset = "honest"\nquota = "honest"';
const PLAN = "The limit of one common plan, with more clients than it serves. Adjust the numbers to match yours.";

const api = (name: string, title: string, file: string, laws = ["no-gate", "backoff", "adaptive"], clients = "processes = 5\nthreads = 2"): Preset =>
  ({ name, title, hint: PLAN, laws, file: `${file}\n[[clients]]\n${clients}` });

export const APIS: Preset[] = [
  api("github", "GitHub REST", `end = "2h"\nbin = "10s"\n[server.window]\nlimit = 5000\nwidth = "1h"\nphase = "0s"\n[server.hints]\n${HINTS}`),
  api("openai", "OpenAI", `end = "20min"\n[server.bucket]\nburst = 500\nrate = "500/min"\n[server.hints]\n${HINTS}`),
  api("anthropic", "Anthropic", `end = "20min"\n[server.bucket]\nburst = 50\nrate = "50/min"\n[server.hints]\nretry_after = "honest"\n${HINTS}`),
  api("stripe", "Stripe", 'end = "5min"\n[server.bucket]\nburst = 100\nrate = "100/s"', undefined, "processes = 8\nthreads = 5"),
  api("shopify", "Shopify REST", 'end = "20min"\n[server.bucket]\nburst = 40\nrate = "2/s"\n[server.hints]\nretry_after = "honest"\nremaining = "honest"'),
  api("aws", "AWS EC2 reads", 'end = "10min"\n[server.bucket]\nburst = 100\nrate = "20/s"'),
  api("pool", "A database pool", 'end = "2min"\n[server.queue]\nworkers = 20\nplaces = 100\nservice = "50ms"',
    ["no-gate", "backoff", "adaptive", "adaptive+vegas"], "processes = 20\nthreads = 10"),
];

export const EXAMPLES: Preset[] = [
  { name: "e-5", title: "A hundred a minute, blind", laws: ["adaptive", "backoff", "aws-cubic", "aimd"], hint: "The most common public API: a window of a minute, and a bare 429. Then add Retry-After and see which laws follow it." },
  { name: "e-5-reset", title: "A hundred a minute, with all hints", laws: ["adaptive", "backoff", "heroku-remaining", "aimd"], hint: "The same limit with all RateLimit fields. Make one of them lie: half of what is left, or twice the time. A count without its reset time does harm: all clients call at once when the window opens." },
  { name: "day", title: "A day at 4500 an hour", laws: ["adaptive", "heroku-gradual", "heroku-proportional", "heroku-remaining"], hint: "Twenty-five workers start with a full bucket. A law that empties it first waits for the rest of the day." },
  { name: "j-100", title: "Clients join and leave", laws: ["adaptive", "aimd", "aws-cubic", "tchannel"], hint: "Two clients, then four, then eight, then four. How soon does a new client get its share?" },
  { name: "g", title: "The limit moves", laws: ["adaptive", "backoff", "aimd", "aws-cubic"], hint: "Doubled, halved and quartered every 200 s. Laws that learn slowly leave calls unused; laws that learn fast are throttled more." },
  { name: "f", title: "Ten minutes of outage, a thousand clients", laws: ["adaptive", "backoff", "autosleeper"], hint: "How many calls do they send while nothing works, and do they overload the server again when it is back?" },
  { name: "d-flappy", title: "An overload that comes and goes", laws: ["adaptive", "backoff", "tchannel", "aws-cubic"], hint: "Every third second, a fifth of the capacity. No law can follow that. Which loses least?" },
  { name: "h", title: "A server that queues", laws: ["adaptive", "adaptive+vegas", "tchannel", "vegas"], hint: "Sixteen workers, a queue of sixty-four, then “busy”. Laws that watch the latency slow down before anything is throttled." },
  { name: "i-4-1-drop", title: "Half a minute on, five minutes off", laws: ["adaptive", "backoff", "aws-cubic"], hint: "What was learned before a pause may be wrong after it: here the limit is a quarter of it every other time." },
  { name: "strangers", title: "Other callers, and a Retry-After that exaggerates", laws: ["adaptive", "none", "backoff", "aimd"], hint: "Half of the limit goes to other callers, who never retry, and the server asks for twice the necessary wait." },
  { name: "b-10", title: "A thousand calls, as soon as possible", laws: ["adaptive", "backoff", "aimd", "aws-cubic"], hint: "A scan at four calls a second. “Time over limit” is how much longer it took than necessary." },
  { name: "autoscaling", title: "A limit that follows the load", laws: ["adaptive", "backoff", "aws-cubic"], hint: "A cloud table store scales up under load, and saves up credit while idle." },
  { name: "s-0.01-1", title: "One call in a hundred seconds", laws: ["adaptive", "backoff", "aimd", "aws-cubic"], hint: "The other end of the scale: two weeks of virtual time. A law whose step is in calls a second has no step that is small enough." },
  { name: "l", title: "Where no gate is needed", laws: ["adaptive", "aimd", "aws-cubic", "vegas"], hint: "The limit is far away. Any wait that a law adds here is waste." },
];

export const PRESETS = [...APIS, ...EXAMPLES];

const FILES = import.meta.glob<string>([
  "../../../tools/sim/scenarios/{e-5,e-5-reset,day,j-100,g,f,d-flappy,h,i-4-1-drop,strangers,b-10,autoscaling,s-0.01-1,l}.toml",
], { query: "?raw", import: "default", eager: true });

/** The state of a preset. */
export async function preset(name: string, files: Files): Promise<State> {
  const { laws, file = FILES[`../../../tools/sim/scenarios/${name}.toml`]! } = PRESETS.find((preset) => preset.name === name)!;
  return { ...USUAL, base: name, laws, scenario: await parsed(file, files) };
}

/** Reads a scenario file. Throws a [`Fault`] with the simulator's message if it is not one. */
export async function parsed(file: string, files: Files): Promise<Scenario> {
  return files.parse(file).catch((error: Error) => { throw new Fault(error.message.slice(0, 300)); }) as Promise<Scenario>;
}

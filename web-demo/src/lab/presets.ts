/** The examples: scenario files of the repository, with a title and the laws to compare. */

import { parse } from "smol-toml";

import { SCENARIO, type Scenario, type State } from "./state";

export interface Preset {
  /** The scenario file's name; empty for the default scenario. */
  name: string;
  title: string;
  /** What to look for, and what to change. */
  hint: string;
  laws: string[];
}

export const PRESETS: Preset[] = [
  {
    name: "", title: "Ten a second, without hints",
    hint: "Five programs share an API of ten calls a second that sends no hints. Halve the limit while it runs, or double the clients.",
    laws: ["adaptive", "no-gate", "fulljit", "aws-cubic"],
  },
  {
    name: "e-5", title: "A hundred a minute, blind",
    hint: "The most common public API: a window of a minute, and a bare 429. Then add Retry-After and see which laws follow it.",
    laws: ["adaptive", "backoff", "aws-cubic", "aimd"],
  },
  {
    name: "e-5-reset", title: "A hundred a minute, with all hints",
    hint: "The same limit with all RateLimit fields. Make one of them lie: half of what is left, or twice the time. A count without its reset time does harm: all clients call at once when the window opens.",
    laws: ["adaptive", "backoff", "heroku-remaining", "aimd"],
  },
  {
    name: "day", title: "A day at 4500 an hour",
    hint: "Twenty-five workers start with a full bucket. A law that empties it first waits for the rest of the day.",
    laws: ["adaptive", "heroku-gradual", "heroku-proportional", "heroku-remaining"],
  },
  {
    name: "j-100", title: "Clients join and leave",
    hint: "Two clients, then four, then eight, then four. How soon does a new client get its share?",
    laws: ["adaptive", "aimd", "aws-cubic", "tchannel"],
  },
  {
    name: "g", title: "The limit moves",
    hint: "Doubled, halved and quartered every 200 s. Laws that learn slowly leave calls unused; laws that learn fast are throttled more.",
    laws: ["adaptive", "fulljit", "aimd", "aws-cubic"],
  },
  {
    name: "f", title: "Ten minutes of outage, a thousand clients",
    hint: "How many calls do they send while nothing works, and do they overload the server again when it is back?",
    laws: ["adaptive", "fulljit", "cenkalti"],
  },
  {
    name: "d-flappy", title: "An overload that comes and goes",
    hint: "Every third second, a fifth of the capacity. No law can follow that. Which loses least?",
    laws: ["adaptive", "sre-k2", "retry-budget", "aws-cubic"],
  },
  {
    name: "h", title: "A server that queues",
    hint: "Sixteen workers, a queue of sixty-four, then “busy”. Laws that watch the latency slow down before anything is throttled.",
    laws: ["adaptive", "adaptive+vegas", "tchannel", "netflix-vegas", "vegas"],
  },
  {
    name: "i-4-1-drop", title: "Half a minute on, five minutes off",
    hint: "What was learned before a pause may be wrong after it: here the limit is a quarter of it every other time.",
    laws: ["adaptive", "fulljit", "aws-cubic"],
  },
  {
    name: "strangers", title: "Other callers, and a Retry-After that exaggerates",
    hint: "Half of the limit goes to other callers, who never retry, and the server asks for twice the necessary wait.",
    laws: ["adaptive", "none", "backoff", "aimd"],
  },
  {
    name: "b-10", title: "A thousand calls, as soon as possible",
    hint: "A scan at four calls a second. “Time over limit” is how much longer it took than necessary.",
    laws: ["adaptive", "fulljit", "cenkalti", "aws-cubic"],
  },
  {
    name: "autoscaling", title: "A limit that follows the load",
    hint: "A cloud table store scales up under load, and saves up credit while idle.",
    laws: ["adaptive", "fulljit", "aws-cubic"],
  },
  {
    name: "s-0.01-1", title: "One call in a hundred seconds",
    hint: "The other end of the scale: two weeks of virtual time. A law whose step is in calls a second has no step that is small enough.",
    laws: ["adaptive", "fulljit", "aimd", "aws-cubic"],
  },
  {
    name: "l", title: "Where no gate is needed",
    hint: "The limit is far away. Any wait that a law adds here is waste.",
    laws: ["adaptive", "aimd", "aws-cubic", "netflix-vegas"],
  },
];

const FILES = import.meta.glob<string>([
  "../../../tools/sim/scenarios/{e-5,e-5-reset,day,j-100,g,f,d-flappy,h,i-4-1-drop,strangers,b-10,autoscaling,s-0.01-1,l}.toml",
], { query: "?raw", import: "default", eager: true });

/** The state of a preset. */
export function preset(name: string): State | undefined {
  const found = PRESETS.find((preset) => preset.name === name);
  if (!found) return undefined;
  const file = FILES[`../../../tools/sim/scenarios/${name}.toml`];
  if (name && file === undefined) return undefined;
  return { base: name, scenario: file === undefined ? SCENARIO : parse(file) as unknown as Scenario, laws: found.laws, seed: 1, speed: 0, at: null };
}

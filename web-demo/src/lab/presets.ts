/** What is worth seeing: scenario files of the repository, named in words, and laws to see them with. */

import { read } from "./fromtoml";
import { scenario, type State } from "./state";

export interface Preset {
  /** Its scenario file's name; empty for the one that the laboratory opens with. */
  name: string;
  title: string;
  /** What to look for, and what to change. */
  hint: string;
  laws: string[];
}

export const PRESETS: Preset[] = [
  {
    name: "", title: "Ten a second, and nobody says so",
    hint: "Five programs share an API of ten calls a second and are told nothing. Halve the limit while it runs, or let five more join.",
    laws: ["adaptive", "none", "fulljit", "aws-cubic"],
  },
  {
    name: "e-5", title: "A hundred a minute, blind",
    hint: "The commonest public API: a window of a minute, and 429 without a word. Then give it Retry-After and see who listens.",
    laws: ["adaptive", "backoff", "aws-cubic", "aimd"],
  },
  {
    name: "e-5-reset", title: "A hundred a minute, and every answer tells",
    hint: "The same limit with all RateLimit fields. Make one of them lie: half of what is left, or twice the time.",
    laws: ["adaptive", "backoff", "heroku-remaining", "aimd"],
  },
  {
    name: "day", title: "A day at 4500 an hour",
    hint: "Twenty-five workers from a full bucket. Whoever empties it first waits for the rest of the day.",
    laws: ["adaptive", "heroku-gradual", "heroku-proportional", "heroku-remaining"],
  },
  {
    name: "j-100", title: "Clients join and leave",
    hint: "Two clients, then four, then eight, then four. How soon does a newcomer get its share?",
    laws: ["adaptive", "aimd", "aws-cubic", "tchannel"],
  },
  {
    name: "g", title: "The limit moves",
    hint: "Doubled, halved and quartered every 200 s. Those that learn slowly waste what they could have had, those that learn fast get refused.",
    laws: ["adaptive", "fulljit", "aimd", "aws-cubic"],
  },
  {
    name: "f", title: "Ten minutes of outage, a thousand clients",
    hint: "How hard do they knock while nothing works, and do they fell the server again when it is back?",
    laws: ["adaptive", "fulljit", "cenkalti"],
  },
  {
    name: "d-flappy", title: "An overload that comes and goes",
    hint: "Each third second a fifth of the capacity. Nobody can follow that; who loses least?",
    laws: ["adaptive", "sre-k2", "retry-budget", "aws-cubic"],
  },
  {
    name: "h", title: "A server that queues",
    hint: "Sixteen workers, sixty-four places, then “busy”. Laws that watch how long calls take hold back before anything is refused.",
    laws: ["adaptive", "adaptive+vegas", "tchannel", "gradient2", "netflix-vegas", "vegas"],
  },
  {
    name: "i-4-1-drop", title: "Half a minute on, five minutes off",
    hint: "What was learnt before a silence may be wrong after it: here the limit is a quarter of it every other time.",
    laws: ["adaptive", "fulljit", "aws-cubic"],
  },
  {
    name: "strangers", title: "Strangers, and a Retry-After that exaggerates",
    hint: "Half of the limit goes to others, who never retry, and the server asks for twice the wait that it needs.",
    laws: ["adaptive", "none", "backoff", "aimd"],
  },
  {
    name: "b-10", title: "A thousand calls, as soon as may be",
    hint: "A scan against four a second. “Time over limit” says how much longer than necessary it took.",
    laws: ["adaptive", "fulljit", "cenkalti", "aws-cubic"],
  },
  {
    name: "autoscaling", title: "A limit that follows the load",
    hint: "A table store of the cloud grows where it is used, and saves up credit where it is not.",
    laws: ["adaptive", "fulljit", "aws-cubic"],
  },
  {
    name: "s-0.01-1", title: "One call in a hundred seconds",
    hint: "The other end of the scale: two weeks of virtual time. A law with a step in calls a second has no step that is small enough.",
    laws: ["adaptive", "fulljit", "aimd", "aws-cubic"],
  },
  {
    name: "l", title: "Where no throttle is needed",
    hint: "The limit is far away. Whatever a law makes a call wait here is waste.",
    laws: ["adaptive", "aimd", "aws-cubic", "netflix-vegas"],
  },
];

const FILES = import.meta.glob<string>([
  "../../../tools/sim/scenarios/{e-5,e-5-reset,day,j-100,g,f,d-flappy,h,i-4-1-drop,strangers,b-10,autoscaling,s-0.01-1,l}.toml",
], { query: "?raw", import: "default", eager: true });

/** The state that a preset stands for. */
export function preset(name: string): State | undefined {
  const found = PRESETS.find((preset) => preset.name === name);
  if (!found) return undefined;
  const file = FILES[`../../../tools/sim/scenarios/${name}.toml`];
  if (name && file === undefined) return undefined;
  return { base: name, scenario: file === undefined ? scenario() : read(file), laws: found.laws, seed: 1, speed: 0, at: null };
}

/** The state in the page's address: a preset or a compressed scenario file, the laws, the seed, the speed and the position. */

import { PRESETS, parsed, preset, type Files } from "./presets";
import { MOST_LAWS, USUAL, type State } from "./state";
import { Fault, SECOND, time } from "./units";

/** The longest compressed scenario that is written and read, in characters. */
const LONGEST = 8_000;

/** The query for a state. Throws a [`Fault`] if it is too long to be read again. */
export async function write({ base, scenario, laws, seed, speed, at }: State, files: Files): Promise<string> {
  const query = new URLSearchParams(base ? { preset: base } : { scenario: await packed(await files.print(scenario)) });
  query.set("laws", laws.join());
  if (seed !== USUAL.seed) query.set("seed", String(seed));
  if (speed !== USUAL.speed) query.set("speed", String(speed));
  if (at !== null) query.set("at", String(at / SECOND));
  return `?${query}`.replaceAll("%2C", ",");
}

async function packed(text: string): Promise<string> {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const value = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
  if (value.length > LONGEST) throw new Fault("this scenario is too long for a link; save it as a file instead");
  return value;
}

/** The state of a query, or the default state. Anyone can write a link: throws a [`Fault`] that says what is wrong. */
export async function read(query: string, files: Files): Promise<State> {
  const keys = new URLSearchParams(query);
  const [name, file] = [keys.get("preset"), keys.get("scenario")];
  if (name !== null && !PRESETS.some((preset) => preset.name === name)) throw new Fault("it names no preset of this page");
  const usual = name !== null ? await preset(name, files) : file !== null ? { ...USUAL, scenario: await parsed(await unpacked(file), files) } : USUAL;
  const number = (key: string, otherwise: number) => {
    const text = keys.get(key);
    const value = Number(text);
    if (text !== null && !(value >= 0 && value <= Number.MAX_SAFE_INTEGER)) throw new Fault(`its ${key} is not a number of 0 or more`);
    return text === null ? otherwise : value;
  };
  const laws = [...new Set((keys.get("laws") ?? usual.laws.join()).split(","))];
  if (laws.length > MOST_LAWS || laws.some((law) => law.length > 40)) throw new Fault(`it has more than ${MOST_LAWS} laws, or too long a name`);
  const [seed, speed, at] = [Math.round(number("seed", usual.seed)), number("speed", usual.speed), Math.round(number("at", -1) * SECOND)];
  return { ...usual, laws, seed, speed, at: at < 0 ? null : Math.min(at, time(usual.scenario.end)) };
}

async function unpacked(value: string): Promise<string> {
  if (value.length > LONGEST) throw new Fault("it is too long");
  try {
    const bytes = Uint8Array.from(atob(value.replaceAll("-", "+").replaceAll("_", "/")), (char) => char.charCodeAt(0));
    // A short value can unpack to gigabytes; no scenario needs a megabyte.
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
    let text = "";
    for (const decoder = new TextDecoder(); text.length < 1e6;) {
      const { done, value } = await stream.read();
      if (done) return text;
      text += decoder.decode(value, { stream: true });
    }
    throw new Error("too long");
  } catch {
    throw new Fault("it is damaged");
  }
}

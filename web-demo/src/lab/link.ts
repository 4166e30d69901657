/** The state in the page's address, as compressed JSON. `read` checks it, because anyone can make a link. */

import { stringify } from "smol-toml";

import type { Engine } from "../engine";
import { PRESETS } from "./presets";
import { MOST_LAWS, checked, type Scenario, type State } from "./state";
import { Fault, time } from "./units";

const VERSION = 1;
/** The longest value that is written and read, in characters. */
const LONGEST = 8_000;
/** The longest JSON that is read, in characters. */
const LARGEST = 200_000;

/** Shortens a foreign text for a message. */
const short = (text: string) => (text.length > 200 ? `${text.slice(0, 200)}…` : text);

/** Pipes bytes through a stream. */
const through = (bytes: BlobPart, stream: CompressionStream | DecompressionStream): Promise<ArrayBuffer> =>
  new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer();

/** The value for a state. Throws a [`Fault`] if it is too long to be read again. */
export async function write(state: State): Promise<string> {
  const bytes = new Uint8Array(await through(JSON.stringify([VERSION, state]), new CompressionStream("deflate-raw")));
  const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  const value = btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
  if (value.length > LONGEST) throw new Fault("this scenario is too long for a link; save it as a file instead");
  return value;
}

/** The part of the engine that says whether a scenario file is valid. */
type Checks = Pick<Engine, "check">;

/** The state of a value. Throws a [`Fault`] that says why there is none. */
export async function read(value: string, engine: Checks): Promise<State> {
  const [version, state] = await unpacked(value);
  if (version !== VERSION) throw new Fault(`it is of version ${short(String(version))} of the laboratory, and this page reads version ${VERSION}`);
  return valid(engine, state);
}

async function unpacked(value: string): Promise<[unknown, Partial<State> | undefined]> {
  if (value.length > LONGEST) throw new Fault("it is too long");
  try {
    const bytes = Uint8Array.from(atob(value.replaceAll("-", "+").replaceAll("_", "/")), (char) => char.charCodeAt(0));
    const text = new TextDecoder().decode(await through(bytes, new DecompressionStream("deflate-raw")));
    if (text.length > LARGEST) throw new Fault("it is too long");
    // A reviver without a result removes the key: a file has no null.
    const [version, state] = JSON.parse(text, (_, value: unknown) => value ?? undefined);
    return [version, state];
  } catch (error) {
    throw error instanceof Fault ? error : new Fault("it is damaged");
  }
}

async function valid(engine: Checks, { base = "", scenario, laws = [], seed = -1, speed = -1, at }: Partial<State> = {}): Promise<State> {
  const names = Array.isArray(laws) ? laws.filter((law) => typeof law === "string" && law.length <= 40) : [];
  const isBounded = (value: unknown, most: number) => typeof value === "number" && value >= 0 && value <= most;
  if (!names.length || names.length !== laws.length || names.length > MOST_LAWS || !Number.isSafeInteger(seed) || !isBounded(seed, Infinity)
    || !isBounded(speed, 1e7) || !(at === undefined || isBounded(at, Infinity))) throw new Fault("it is damaged");
  const own = await valued(scenario, engine);
  return {
    base: PRESETS.some(({ name }) => name === base) ? base : "", scenario: own, laws: [...new Set(names)], seed, speed,
    at: at == null ? null : Math.min(at, time(own.end)),
  };
}

/** The scenario, if the simulator accepts it and it is not too large for a page. */
async function valued(scenario: unknown, engine: Checks): Promise<Scenario> {
  let file: string;
  try {
    file = stringify(scenario);
  } catch {
    throw new Fault("it is damaged");
  }
  await accepted(file, engine);
  return checked(scenario as Scenario);
}

/** Throws a [`Fault`] with the simulator's message if it rejects a scenario file. */
export async function accepted(file: string, engine: Checks): Promise<void> {
  await engine.check(file).catch((error: Error) => { throw new Fault(short(error.message)); });
}

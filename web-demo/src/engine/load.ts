/** Loads a module. */

import { Simulator, type Exports } from "./simulator";

/** Returns a function that makes a new instance. */
export async function load(wasm: string): Promise<() => Simulator> {
  const response = await fetch(wasm);
  if (!response.ok) throw new Error(`the server answers ${response.status} for ${response.url}`);
  const module = await WebAssembly.compile(await response.arrayBuffer());
  return () => new Simulator(new WebAssembly.Instance(module).exports as unknown as Exports);
}

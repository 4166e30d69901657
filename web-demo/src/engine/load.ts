/** Loads a module, as WebAssembly or as the plain JavaScript made from it. */

import { Simulator, type Exports } from "./simulator";

export interface Loaded {
  kind: "wasm" | "js";
  /** A new instance. */
  start(): Simulator;
}

/** A content security policy may forbid WebAssembly. It then rejects even this smallest module. */
function mayCompile(): boolean {
  try {
    return new WebAssembly.Module(Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0)) instanceof WebAssembly.Module;
  } catch {
    return false;
  }
}

export async function load(wasm: string, script: string): Promise<Loaded> {
  if (mayCompile()) {
    const response = await fetch(wasm);
    if (!response.ok) throw new Error(`the server answers ${response.status} for ${response.url}`);
    const module = await WebAssembly.compile(await response.arrayBuffer());
    return { kind: "wasm", start: () => new Simulator(new WebAssembly.Instance(module).exports as unknown as Exports) };
  }
  const { instantiate } = await import(/* @vite-ignore */ script) as { instantiate: () => Exports };
  return { kind: "js", start: () => new Simulator(instantiate()) };
}

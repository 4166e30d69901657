/** Declares modules that the build inserts, and the parts of runtimes that this package uses. */

declare module "#core/*" {
  /** Creates an instance of the module. */
  export const instantiate: () => import("./core.js").Exports;
  /** How waiting calls wake in this runtime. */
  export const Lane: import("./gate.js").Lanes;
}
declare module "#packed/*" {
  export const common: string;
  export const packed: string;
}
declare module "*.wasm" {
  const module: WebAssembly.Module;
  export default module;
}

/** The part of Cloudflare's runtime that this package uses. A worker's own types contain all of it. */
declare module "cloudflare:workers" {
  interface Storage {
    readonly kv: { get<T>(key: string): T | undefined; put<T>(key: string, value: T): void; delete(key: string): boolean };
    setAlarm(time: number): Promise<void>;
  }
  export abstract class DurableObject<Env = unknown> {
    constructor(ctx: unknown, env: Env);
    protected readonly ctx: { readonly id: { readonly name?: string }; readonly storage: Storage };
    protected readonly env: Env;
    alarm?(): void | Promise<void>;
  }
  export const waitUntil: ((promise: Promise<unknown>) => void) | undefined;
}

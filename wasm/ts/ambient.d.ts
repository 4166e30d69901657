/** What the build puts in place of these names, and what the runtime brings. */

declare module "#packed/gate" {
  export const common: string;
  export const packed: string;
}
declare module "#packed/laws" {
  export const common: string;
  export const packed: string;
}
declare module "#packed/pacing" {
  export const common: string;
  export const packed: string;
}
declare module "#packed/shared" {
  export const common: string;
  export const packed: string;
}
declare module "#plain/gate" {
  export function instantiate(): unknown;
}
declare module "*.wasm" {
  const module: WebAssembly.Module;
  export default module;
}
declare module "*.wasm?module" {
  const module: WebAssembly.Module;
  export default module;
}

/** What this package uses of Cloudflare's runtime; who writes a worker has the whole of it in its types. */
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

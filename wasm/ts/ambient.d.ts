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

/** The part of Node that this package uses. */
declare module "node:fs" {
  export function mkdirSync(path: string, options: { mode: number; recursive: true }): unknown;
  export function lstatSync(path: string): { isDirectory(): boolean; readonly uid: number; readonly mode: number };
  export function lstatSync(path: string, options: { throwIfNoEntry: false }): { isSocket(): boolean } | undefined;
  export function statSync(path: string, options: { bigint: true; throwIfNoEntry: false }): { readonly ino: bigint } | undefined;
  export function statSync(path: string, options: { bigint: true }): { readonly ino: bigint };
  export function chmodSync(path: string, mode: number): void;
  export function renameSync(from: string, to: string): void;
  export function rmSync(path: string, options: { force: true }): void;
  export function openSync(path: string, flags: string, mode: number): number;
  export function writeSync(file: number, bytes: Uint8Array, offset: number, length: number, position: number): number;
  export function closeSync(file: number): void;
  export function readFileSync(path: string): Uint8Array;
}
declare module "node:net" {
  export interface Socket {
    readonly writableLength: number;
    on(event: "connect" | "close", listener: () => void): this;
    on(event: "data", listener: (bytes: Uint8Array) => void): this;
    on(event: "error", listener: (error: Error) => void): this;
    write(bytes: Uint8Array): boolean;
    destroy(): void;
    ref(): void;
    unref(): void;
  }
  export interface Server {
    on(event: "connection", listener: (socket: Socket) => void): this;
    on(event: "error", listener: (error: Error) => void): this;
    listen(path: string, listening: () => void): this;
    close(): void;
    unref(): void;
  }
  export function connect(path: string): Socket;
  export function createServer(): Server;
}
declare module "node:os" {
  export function tmpdir(): string;
  export function userInfo(): { readonly username: string };
}
declare module "node:path" {
  export function join(...parts: string[]): string;
  export function isAbsolute(path: string): boolean;
}
declare module "node:process" {
  const process: { readonly platform: string; readonly pid: number; readonly env: Readonly<Record<string, string | undefined>>; getuid?(): number };
  export default process;
}

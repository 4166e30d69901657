/** What the build puts in place of these names. */

declare module "#packed/gate" {
  export const first: number;
  export const packed: string;
}
declare module "#packed/laws" {
  export const first: number;
  export const packed: string;
}
declare module "#packed/pace" {
  export const first: number;
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

/** What the build puts in place of these names. */

declare module "#packed/gate" {
  export const common: string;
  export const packed: string;
}
declare module "#packed/laws" {
  export const common: string;
  export const packed: string;
}
declare module "#packed/pace" {
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

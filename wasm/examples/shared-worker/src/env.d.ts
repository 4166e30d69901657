/** What wrangler.jsonc binds. (`npx wrangler types` writes the same at length.) */
interface Env {
  TIDEGATE: DurableObjectNamespace<import("./index").Budget>;
  API: string;
}

declare namespace Cloudflare {
  interface Env extends globalThis.Env {}
}

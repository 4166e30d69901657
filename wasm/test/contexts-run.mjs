// Runs contexts.mjs with the entries that its argument names, in Node, Bun or Deno.
import { AsyncLocalStorage } from "node:async_hooks";
import { context, createContextKey } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { createClient } from "redis";
import { contexts } from "./contexts.mjs";

const { entries, port, folder, telemetry } = JSON.parse((globalThis.Deno?.args ?? globalThis.process.argv.slice(2))[0]);
const shared = port && (await createClient({ socket: { host: "127.0.0.1", port } }).connect());
let gates = 0;

/** The options that give each shared gate its own budget. */
const OWN = {
  "tidegate/local": () => ({ folder, name: `${gates++}` }),
  "tidegate/tabs": () => ({ name: `${gates++}` }),
  "tidegate/redis": () => ({ shared, prefix: `${gates++}` }),
};
const makers = {};
for (const entry of entries) {
  const { tidegate } = await import(entry);
  if (tidegate) makers[entry] = (options) => tidegate({ ...options, ...OWN[entry]?.() });
}

/** The context of OpenTelemetry, with the methods of `AsyncLocalStorage`. */
const span = createContextKey("span");
const ofTelemetry = {
  run: (own, work) => context.with(context.active().setValue(span, own), work),
  getStore: () => context.active().getValue(span),
};
if (telemetry) context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
console.log(JSON.stringify(await contexts(telemetry ? ofTelemetry : new AsyncLocalStorage(), makers)));
globalThis.process.exit();

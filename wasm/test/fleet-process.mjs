// One Node process of a fleet. It exchanges messages with its parent through Node's channel.

import { play } from "./fleet-member.mjs";

const told = JSON.parse(process.env.TIDEGATE_ISOLATE);
const { store, folder, port } = told;
const { tidegate } = await import(folder ? "tidegate/local" : "tidegate/redis");

/** How the process shares a budget, and a function that ends what it needed. */
const STORES = {
  folder: () => [{ folder }, () => {}],
  redis: async () => {
    const { createClient } = await import("redis");
    const shared = await createClient({ socket: { host: "127.0.0.1", port } }).on("error", () => {}).connect();
    return [{ shared }, () => shared.close()];
  },
  ioredis: async () => {
    const { Redis } = await import("ioredis");
    const shared = new Redis({ host: "127.0.0.1", port }).on("error", () => {});
    return [{ shared }, () => shared.disconnect()];
  },
};
const [place, end] = await STORES[store]();

process.on("disconnect", () => process.exit());
const parent = {
  told,
  number: process.pid,
  tell: (what) => process.connected && process.send(what),
  listen: (hear) => process.on("message", hear),
};
play(parent, (options) => tidegate({ ...place, ...options }), async () => {
  await end();
  process.disconnect();
});

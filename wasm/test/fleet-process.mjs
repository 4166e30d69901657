// One Node process of a fleet. It exchanges messages with its parent through Node's channel.

import { Redis } from "ioredis";
import { createClient } from "redis";
import { tidegate as local } from "tidegate/local";
import { tidegate as redis } from "tidegate/redis";
import { play } from "./fleet-member.mjs";

const told = JSON.parse(process.env.TIDEGATE_ISOLATE);
const { store, folder, port } = told;

/** How the process shares a budget: a function that makes a gate, and one that ends what it needed. */
const STORES = {
  folder: () => [(options) => local({ folder, ...options }), () => {}],
  redis: async () => {
    const shared = await createClient({ socket: { host: "127.0.0.1", port } }).on("error", () => {}).connect();
    return [(options) => redis({ shared, ...options }), () => shared.close()];
  },
  ioredis: () => {
    const shared = new Redis({ host: "127.0.0.1", port }).on("error", () => {});
    return [(options) => redis({ shared, ...options }), () => shared.disconnect()];
  },
};
const [make, end] = await STORES[store]();

process.on("disconnect", () => process.exit());
const parent = {
  told,
  number: process.pid,
  tell: (what) => process.connected && process.send(what),
  listen: (hear) => process.on("message", hear),
};
play(parent, make, async () => {
  await end();
  process.disconnect();
});

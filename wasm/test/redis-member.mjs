// One process of a fleet that shares a budget through Redis.

import { Redis } from "ioredis";
import { createClient } from "redis";
import { tidegate } from "tidegate/redis";
import { play, told } from "./fleet-member.mjs";

const { client, port } = told;
const CLIENTS = {
  redis: () => createClient({ socket: { host: "127.0.0.1", port } }).on("error", () => {}).connect(),
  ioredis: () => new Redis({ host: "127.0.0.1", port }).on("error", () => {}),
};
const shared = await CLIENTS[client]();
play(
  (options) => tidegate({ shared, ...options }),
  () => (client === "redis" ? shared.close() : shared.disconnect()),
);

// One process of a fleet that shares a budget through Redis.

import { Redis } from "ioredis";
import { createClient } from "redis";
import { tidegate } from "tidegate/redis";
import { play } from "./fleet-member.mjs";
import { end, port as process_ } from "./process-member.mjs";

const { client, port } = process_.told;
const CLIENTS = {
  redis: () => createClient({ socket: { host: "127.0.0.1", port } }).on("error", () => {}).connect(),
  ioredis: () => new Redis({ host: "127.0.0.1", port }).on("error", () => {}),
};
const shared = await CLIENTS[client]();
play(
  process_,
  (options) => tidegate({ shared, ...options }),
  async () => {
    if (client === "redis") await shared.close();
    else shared.disconnect();
    end();
  },
);

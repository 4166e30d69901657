// One process of a fleet that shares a budget through Redis: it makes calls as it is told by the process
// that started it, and tells of each when it begins, leaves and ends.

import { Redis } from "ioredis";
import { createClient } from "redis";
import { tidegate } from "tidegate/redis";

const { member, client, port, url, policy, skew } = JSON.parse(process.env.TIDEGATE_ISOLATE);
const tell = (what) => process.connected && process.send(what);

const CLIENTS = {
  redis: () => createClient({ socket: { host: "127.0.0.1", port } }).on("error", () => {}).connect(),
  ioredis: () => new Redis({ host: "127.0.0.1", port }).on("error", () => {}),
};
const shared = await CLIENTS[client]();
const gate = tidegate({
  shared,
  ...policy,
  key: () => "api",
  now: () => performance.now() + skew,
  fetch: (input, init) => {
    tell({ left: Date.now() });
    return fetch(input, init);
  },
});

let turn = 0;
let isEnding = false;
let isClosed = false;
async function calls() {
  while (!isEnding) {
    const name = `${member}-${process.pid}-${turn++}`;
    tell({ began: name });
    try {
      const answer = await gate.fetch(url, { headers: { "idempotency-key": name } });
      tell({ name, ended: (await answer.text()) === "served\n" ? "served" : isClosed ? "closed" : "lost" });
    } catch (error) {
      tell({ name, ended: isClosed ? "closed" : "lost", why: String(error) });
    }
  }
}

const stats = setInterval(() => tell({ stats: gate.stats(), holds: !!gate.budget("api") }), 50);

process.on("message", async ({ callers = 0, end, close }) => {
  for (let i = 0; i < callers; i++) void calls();
  if (end) isEnding = true;
  if (!close) return;
  isEnding = isClosed = true;
  await gate.close();
  clearInterval(stats);
  if (client === "redis") await shared.close();
  else shared.disconnect();
  process.disconnect();
});
process.on("disconnect", () => process.exit());

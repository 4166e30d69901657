// A program that uses what the types promise, with a client of either package.

import { Redis } from "ioredis";
import { createClient } from "redis";
import { tidegate, type BudgetStats, type HeldGate } from "tidegate/redis";

const client = createClient({ url: "redis://127.0.0.1" });
const gate: HeldGate = tidegate({ shared: client, law: "fixed", requests: { limit: 50, per: 1_000 }, prefix: "mine" });
const answer: Promise<Response> = gate.fetch("https://api.example/");
const stats: BudgetStats | undefined = gate.budget("https://api.example");
const closed: Promise<void> = gate.close();
tidegate({ shared: createClient({ RESP: 2 }), key: ({ url }) => new URL(url).host }).on("missed", ({ key, error }) => void [key, error]);
tidegate({ shared: new Redis(), alone: { limit: 2, per: 1_000 }, heartbeat: 250 });
// @ts-expect-error: a client is needed.
tidegate({ shared: {} });
// @ts-expect-error: no shared budget follows this law.
tidegate({ shared: client, law: "vegas" });
void [answer, stats, closed];

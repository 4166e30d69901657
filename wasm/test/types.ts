// A program that uses what the types promise.

import { DeadlineExceeded, QueueFull, tidegate, type Cause, type Gate, type Permit, type Policy } from "tidegate";
import { tidegate as every, type Policy as EveryPolicy } from "tidegate/full";
import { tidegate as lite, type Gate as LiteGate, type Options as LiteOptions } from "tidegate/lite";
import { pacing } from "tidegate/pacing";

const policy: Policy = { law: "fixed", requests: { limit: 100, per: 1_000 }, concurrency: 8 };
const gate = tidegate({ ...policy, key: ({ url }) => new URL(url).host });
const answer: Promise<Response> = gate.fetch("https://api.example/", { method: "POST" }, { retry: true, cost: { tokens: 5 } });
const number: Promise<number> = gate.run(async (signal: AbortSignal) => (signal.aborted ? 0 : 1), { deadline: 5_000, priority: 1 });
const permit: Permit | null = gate.tryAcquire({ cost: 2 });
permit?.settle({ outcome: "throttled", retryAfter: 1_000 });
const off: () => void = gate.on("wait", ({ cause }) => { const why: Cause = cause; void why; });
const record: readonly (readonly [string, string])[] = every().snapshot().keys;
const taken: boolean = pacing({ limit: 1, per: 10 }).take();
const laws: EveryPolicy = { law: "vegas" };
every({ ...laws, law: "aimd" }).setPolicy(laws);
const tolerant: Policy = { law: "adaptive", tolerance: 0.1 };
tidegate({ ...tolerant, queue: 5 }).setPolicy({ tolerance: 0 });
for (const law of ["adaptive", "fixed", "none", "backoff"] as const) tidegate({ ...policy, law }).setPolicy({ law });
answer.catch((error) => (error instanceof DeadlineExceeded ? error.wait : error instanceof QueueFull ? error.code : ""));
const layered: Promise<number> = every({ key: ({ url }) => ["account", url] as const }).run(() => 1, { key: ["account", "model"] });
const key: string[] = every().soonest([["account", "model"], ["other", "model"]]);
const one: Gate = every({ key: ({ url }) => url });
// What compiles with `tidegate/lite` compiles with `tidegate`.
const options: LiteOptions = { law: "adaptive", requests: { limit: 1, per: 1_000 }, tolerance: 0.1, concurrency: 2, queue: 5 };
for (const less of [lite(options), tidegate(options)] satisfies LiteGate[]) {
  less.with({ retry: true, attemptTimeout: 100 }).fetch("https://api.example/", {}, { deadline: 5, release: "headers" }).catch(() => {});
  less.tryAcquire({ key: "a" })?.settle("busy");
  less.on("gaveUp", ({ why }) => void why.length);
  less.setPolicy({ attempts: 3 });
}
void [number, off, record, taken, layered, key, one, every().peek(key).wait];

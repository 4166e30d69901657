// One budget for Node processes through a real Redis server: seats, records, prefixes, clients.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import test from "node:test";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";
import { Cluster, Redis } from "ioredis";
import { createClient, createCluster } from "redis";
import { PolicyError, tidegate } from "tidegate/redis";
import { carrier } from "./carriers.mjs";
import { api } from "./live.mjs";
import { Server } from "./redis-server.mjs";
import { program, tool } from "./tools.mjs";

/** The names in Redis for the key of `run`. */
const [SEAT, BUDGET] = ["{tidegate}:seat:", "{tidegate}:budget:"];

/** A Redis server, and gates that share it, each with a separate client. */
async function redis(t) {
  const server = new Server();
  await server.start();
  const ends = [];
  t.after(async () => {
    for (const end of ends) await end();
    await server.dispose();
  });
  const gate = async (options) => {
    const own = () => createClient({ socket: { host: "127.0.0.1", port: server.port } }).on("error", () => {}).connect();
    const shared = options?.shared ?? (await own());
    const gate = tidegate({ ...options, shared });
    ends.push(async () => {
      await gate.close();
      await (shared.destroy ?? shared.disconnect).call(shared);
    });
    return gate;
  };
  return { server, gate };
}

test("a process that has lost the seat grants nothing, and asks the new holder", async (t) => {
  const { server, gate } = await redis(t);
  const [first, second] = [await gate(), await gate()];
  assert.equal(await first.run(() => 1), 1);
  // What happens to the seat of a process that is frozen for long enough.
  await server.tell("EVAL", "redis.call('DEL', KEYS[1]) redis.call('HSET', KEYS[2], 'holder', 'another')", "2", SEAT, BUDGET);
  assert.equal(await second.run(() => 2), 2);
  const holder = await server.tell("GET", SEAT);
  while (first.budget()) assert.equal(await first.run(() => 3), 3);
  assert.equal(await first.run(() => 4), 4);
  assert.ok(second.budget());
  assert.equal(await server.tell("GET", SEAT), holder);
  assert.equal(await server.tell("HGET", BUDGET, "holder"), holder);
  assert.equal(first.stats().alone + second.stats().alone, 0);
});

test("the policy of the program that joined last applies to each key, whatever the clocks of the programs say", async (t) => {
  const { gate } = await redis(t);
  const of = (limit) => ({ law: "fixed", requests: { limit, per: 1_000 } });
  const [first, second, last] = [await gate(of(100)), await gate(of(100)), await gate(of(10))];
  const real = Date.now;
  t.after(() => (Date.now = real));
  const keys = ["a", "b", "c", "d"];
  for (const [i, key] of keys.entries()) {
    Date.now = () => real() + i * 3_600_000;
    await [first, second][i % 2].run(() => 1, { key });
  }
  Date.now = () => real() - 3_600_000;
  const start = performance.now();
  const take = async (key) => {
    while (!last.budget(key)) {
      assert.ok(performance.now() - start < 60_000, `its policy does not apply to ${key}`);
      await last.run(() => 1, { key });
    }
  };
  for (const key of keys) await take(key);
  for (let i = 0; i < 3; i++) await Promise.all(keys.flatMap((key) => [first, second].map((gate) => gate.run(() => 1, { key }))));
  assert.deepEqual(keys.map((key) => last.budget(key)?.interval), [100, 100, 100, 100]);
});

test("a program that has just started leaves an expired seat to its holder", async (t) => {
  const { server, gate } = await redis(t);
  const [first, second] = [await gate(), await gate()];
  await first.run(() => 1);
  await server.tell("DEL", SEAT);
  await second.run(() => 2);
  assert.ok(first.budget() && !second.budget());
  assert.equal(second.stats().alone, 0);
});

test("a grant that arrives after its request was given up is used", async (t) => {
  const { server, gate } = await redis(t);
  const own = await createClient({ socket: { host: "127.0.0.1", port: server.port } }).on("error", () => {}).connect();
  let pause = 0;
  const slow = {
    isReady: true,
    options: own.options,
    duplicate: (override) => own.duplicate(override),
    destroy: () => own.destroy(),
    on: (...listener) => own.on(...listener),
    sendCommand: async (args) => (await setTimeout(pause), own.sendCommand(args)),
  };
  const policy = { law: "fixed", requests: { limit: 50, per: 1_000 } };
  const [holder, other] = [await gate({ ...policy, shared: slow }), await gate(policy)];
  await holder.run(() => 1);
  await other.run(() => 2);
  // The member gives a request up after 500 ms.
  pause = 600;
  while (!other.stats().missed) await Promise.all(Array.from({ length: 20 }, () => other.run(() => 3)));
  pause = 0;
  await other.run(() => 4);
  // A lease that nobody uses would stay in flight for 30 s.
  for (const end = performance.now() + 10_000; holder.budget().inFlight && performance.now() < end; ) await setTimeout(20);
  assert.equal(holder.budget().inFlight, 0);
});

test("a holder keeps a seat that Redis has lost, with what was learned", async (t) => {
  const { server, gate } = await redis(t);
  const holder = await gate();
  for (let i = 0; i < 5; i++) await holder.run(() => 1);
  await server.tell("FLUSHALL");
  while (!(await server.tell("EXISTS", BUDGET))) await holder.run(() => 2);
  assert.ok(holder.budget().admitted >= 6);
});

test("members restore what Redis has lost", async (t) => {
  const [{ server, gate }, { url }] = await Promise.all([redis(t), api(t, "--limit", "1000")]);
  const [first, second] = [await gate({ law: "aimd" }), await gate({ law: "aimd" })];
  for (let i = 0; i < 20; i++) await Promise.all([first, second].map((gate) => gate.run(() => fetch(url))));
  const [holder, other] = first.budget() ? [first, second] : [second, first];
  const { interval } = holder.budget();
  await holder.close();
  await server.tell("FLUSHALL");
  while (!other.budget()) await other.run(() => fetch(url));
  const learnt = other.budget().interval;
  assert.ok(interval > 0 && learnt < interval * 1.5, `${interval} ms between two calls, and then ${learnt}`);
});

test("a program that holds as many budgets as it can leaves further ones to others", async (t) => {
  const { gate } = await redis(t);
  const ten = { law: "fixed", requests: { limit: 10, per: 1_000 } };
  const [many, other] = [await gate({ ...ten, keys: 8 }), await gate(ten)];
  const call = (key) => many.run(() => 1, { key });
  let ended = false;
  const [keys, calls] = [Array.from({ length: 8 }, (_, i) => `key ${i}`), []];
  for (const key of keys) {
    while (!many.budget(key)) await call(key);
    // As long as another program calls the key, its budget is not given up.
    calls.push((async () => {
      while (!ended) await other.run(() => 1, { key });
    })());
  }
  const full = new Promise((tell) => many.on("missed", ({ key, error }) => key === "another" && error?.code === "KEYS_FULL" && tell()));
  await Promise.all([full, call("another")]);
  await other.run(() => 1, { key: "another" });
  while (!many.stats("another").members) await call("another");
  assert.ok(other.budget("another") && !many.budget("another") && keys.every((key) => many.budget(key)));
  ended = true;
  await Promise.all(calls);
});

test("a budget that all members have left is given up, and continues from its record", async (t) => {
  const { server, gate } = await redis(t);
  const [first, second] = [await gate({ law: "aimd" }), await gate({ law: "aimd" })];
  for (let i = 0; i < 40; i++) await first.run(() => i);
  const { interval } = first.budget();
  while (first.budget()) await setTimeout(50);
  assert.equal(await server.tell("EXISTS", SEAT), 0);
  await second.run(() => 1);
  assert.ok(interval > 0 && second.budget().interval < interval * 1.5, `${interval} ms between two calls, and then ${second.budget().interval}`);
});

test("a client may have its own key prefix", async (t) => {
  const { server, gate } = await redis(t);
  const client = () => new Redis({ host: "127.0.0.1", port: server.port, keyPrefix: "all:" });
  const [first, second] = [await gate({ shared: client() }), await gate({ shared: client() })];
  assert.equal(await first.run(() => 1), 1);
  assert.equal(await second.run(() => 2), 2);
  assert.equal(await server.tell("EXISTS", `all:${SEAT}`), 1);
  assert.ok(first.budget() && !second.budget() && !second.stats().alone);
});

/** Entries of a box that are no messages. */
const JUNK = ["", "junk", "{", "null", "7", "{}", "[]", '[1,"","1","AAAA"]', '[null,"","1"]', '["","",1e999]', `[${'"",'.repeat(9_000)}""]`, '["x","","1","%"]', "[".repeat(2_000)];

test("a request that names another list leaves it alone", async (t) => {
  const { server, gate } = await redis(t);
  const [holder, other] = [await gate(), await gate()];
  await holder.run(() => 1);
  const box = (await server.tell("GET", SEAT)).split("|")[0];
  const lists = ["jobs", "jobs".padStart(box.length, "x"), "{tidegate}:seats"];
  for (const list of lists) {
    await server.tell("RPUSH", list, "first", "second");
    await server.tell("RPUSH", box, JSON.stringify([list, "", "1", "AAAA"]));
  }
  assert.equal(await other.run(() => 2), 2);
  for (const list of lists) assert.deepEqual([await server.tell("LLEN", list), await server.tell("TTL", list)], [2, -1], list);
  assert.equal(other.stats().alone, 0);
  // Those that a seat or a record names.
  await holder.close();
  await server.tell("SET", SEAT, "jobs|1");
  await server.tell("HSET", BUDGET, "holder", "jobs|1");
  while (!other.budget()) await other.run(() => 3);
  assert.deepEqual([await server.tell("LLEN", "jobs"), await server.tell("TTL", "jobs")], [2, -1]);
});

test("junk in a box or a record costs nothing", async (t) => {
  const { server, gate } = await redis(t);
  const gone = "{tidegate}:box:00000000-0000-4000-8000-000000000000";
  await server.tell("HSET", BUDGET, "holder", `${gone}|1`, "record", "%", "at", "junk");
  await server.tell("RPUSH", gone, ...JUNK);
  const [holder, other] = [await gate(), await gate()];
  const errors = [];
  for (const one of [holder, other]) one.on("missed", ({ error }) => errors.push(error));
  await holder.run(() => 1);
  assert.ok(holder.budget());
  await other.run(() => 2);
  const readers = async () => (await server.tell("CLIENT", "LIST")).split("\n").filter((line) => line.includes("cmd=blpop")).map((line) => /^id=(\d+)/.exec(line)[1]);
  const before = await readers();
  assert.equal(before.length, 2);
  await server.tell("RPUSH", (await server.tell("GET", SEAT)).split("|")[0], ...JUNK);
  for (let i = 0; i < 5; i++) await other.run(() => 3);
  assert.deepEqual(await readers(), before);
  assert.deepEqual([errors, holder.stats().alone + other.stats().alone], [[], 0]);
});

test("a client without an offline queue, or with short timeouts, leases too", async (t) => {
  const { server, gate } = await redis(t);
  const client = async (options) => {
    const client = new Redis({ host: "127.0.0.1", port: server.port, ...options });
    await once(client, "ready");
    return client;
  };
  const holder = await gate();
  await holder.run(() => 1);
  const other = createClient({ socket: { host: "127.0.0.1", port: server.port, socketTimeout: 700 } }).on("error", () => {});
  for (const options of [{ enableOfflineQueue: false }, { commandTimeout: 100 }, { socketTimeout: 100 }, undefined]) {
    const member = await gate({ shared: options ? await client(options) : await other.connect() });
    const errors = [];
    member.on("missed", ({ error }) => errors.push(String(error)));
    for (const end = performance.now() + 600; performance.now() < end; ) await member.run(() => 2);
    assert.deepEqual([member.stats().alone, errors], [0, []], JSON.stringify(options));
  }
});

test("a user with the documented permissions holds and leases", async (t) => {
  const { server, gate } = await redis(t);
  const guide = fs.readFileSync(path.join(import.meta.dirname, "../../docs/fleet.md"), "utf8");
  const [, permissions] = /needs these permissions: `([^`]+)`/.exec(guide);
  await server.tell("ACL", "SETUSER", "few", "on", ">secret", ...permissions.split(/\s+/));
  const login = { username: "few", password: "secret" };
  const other = new Redis({ port: server.port, ...login });
  await once(other, "ready");
  const first = await gate({ shared: await createClient({ socket: { port: server.port }, ...login }).on("error", () => {}).connect() });
  const second = await gate({ shared: other });
  const errors = [];
  for (const one of [first, second]) one.on("missed", ({ error }) => errors.push(String(error)));
  for (const one of [first, second, first]) await one.run(() => 1);
  await first.close();
  // It takes the seat, with the messages of the former holder.
  while (!second.budget() && !errors.length) await second.run(() => 2);
  assert.deepEqual([errors, first.stats().alone, second.stats().alone], [[], 0, 0]);
});

for (const [missing, named] of [["-blpop", /^Redis delivers no answers: NOPERM .*blpop.* Calls continue/], ["-time", /can't run this command.* needs the permissions .*\+time/]]) {
  test(`a missing permission is named: ${missing}`, async (t) => {
    const { server, gate } = await redis(t);
    await (await gate()).run(() => 1);
    await server.tell("ACL", "SETUSER", "few", "on", ">secret", "~*", "+@all", missing);
    const shared = new Redis({ host: "127.0.0.1", port: server.port, username: "few", password: "secret" });
    await once(shared, "ready");
    const member = await gate({ shared });
    const why = new Promise((tell) => member.on("missed", ({ error }) => tell(error)));
    assert.equal(await member.run(() => 2), 2);
    const { code, message } = await why;
    assert.equal(code, "AWAY");
    assert.match(message, named);
  });
}

test("a gate whose client is not connected continues alone, and reports why", async () => {
  const shared = createClient({ socket: { host: "127.0.0.1", port: 1 } });
  const gate = tidegate({ shared });
  const why = new Promise((tell) => gate.on("missed", ({ error }) => tell(error)));
  assert.equal(await gate.run(() => 7), 7);
  const { code, message } = await why;
  assert.equal(code, "AWAY");
  assert.match(message, /^Redis is not connected\. Calls continue/);
  assert.equal(gate.stats().alone, 1);
  await gate.close();
});

test("a program that closes its client but not its gate ends", async (t) => {
  const { server } = await redis(t);
  const ends = {
    'import { createClient } from "redis"; const shared = await createClient({ url }).connect();': "await shared.close();",
    'import { Redis } from "ioredis"; const shared = new Redis(url);': "await shared.quit();",
  };
  for (const [begin, end] of Object.entries(ends)) {
    await program(`import { tidegate } from "tidegate/redis"; const url = "redis://127.0.0.1:${server.port}"; ${begin} await tidegate({ shared }).run(() => 1); ${end}`);
  }
});

test("a half-open connection is reported, and replaced for scripts", async (t) => {
  const { server, gate } = await redis(t);
  const [silent, all] = [new Set(), new Set()];
  const proxy = net.createServer((from) => {
    const to = net.connect(server.port, "127.0.0.1");
    all.add(from);
    const pipe = (one, other) => one.on("data", (bytes) => silent.has(from) || other.write(bytes)).on("error", () => {}).on("close", () => other.destroy());
    pipe(from, to);
    pipe(to, from);
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  t.after(() => proxy.close());
  const { port } = proxy.address();
  for (const shared of [await createClient({ socket: { host: "127.0.0.1", port } }).on("error", () => {}).connect(), new Redis({ host: "127.0.0.1", port }).on("error", () => {})]) {
    const one = await gate({ shared, prefix: String(all.size), law: "fixed", requests: { limit: 50, per: 1_000 } });
    const errors = [];
    one.on("missed", ({ error }) => errors.push(String(error)));
    await one.run(() => 1);
    for (const socket of all) silent.add(socket);
    // Until it has the seat again, over another connection.
    const isReported = () => errors.some((error) => /^TidegateError: Redis has not answered for \d+ ms: the connection may be half-open\. Calls continue/.test(error));
    for (let i = 0; i < 60 && !(isReported() && one.budget()); i++) await one.run(() => 1);
    assert.ok(isReported() && one.budget(), errors.join("\n"));
    const { alone } = one.stats();
    for (let i = 0; i < 50; i++) await one.run(() => 1);
    assert.ok(one.stats().alone <= alone + 5, `${one.stats().alone - alone} calls without a lease`);
  }
});

carrier(async (t) => {
  const { server, gate } = await redis(t);
  return { gate, isFree: async () => !(await server.tell("EXISTS", SEAT)) };
}, { prefix: "mine" }, (policy) => tidegate({ shared: createClient(), ...policy }));

test("an invalid client is rejected at once", () => {
  assert.throws(() => tidegate({}), (error) => error instanceof PolicyError && error.message.startsWith("shared is not a Redis client: "));
  for (const shared of [createCluster({ rootNodes: [] }), new Cluster([{ port: 1 }], { lazyConnect: true })]) {
    assert.throws(() => tidegate({ shared }), (error) => error instanceof PolicyError && /Redis Cluster, which is not supported/.test(error.message));
  }
});

test("clients of both packages fit the types", async () => {
  const here = import.meta.dirname;
  const options = ["--noEmit", "--strict", "--skipLibCheck", "--target", "es2022", "--lib", "es2022,dom,esnext.disposable", "--ignoreConfig"];
  for (const module of [["--module", "nodenext"], ["--module", "esnext", "--moduleResolution", "bundler"]]) {
    await promisify(execFile)(process.execPath, [tool("typescript/bin/tsc"), ...options, ...module, "redis-types.ts"], { cwd: here });
  }
});

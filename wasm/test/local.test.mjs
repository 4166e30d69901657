// One budget for processes on one machine: seats, files, folders, versions.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import test from "node:test";
import { PolicyError, tidegate } from "tidegate/local";
import { serve } from "./http.mjs";
import { api } from "./live.mjs";
import { carrier } from "./carriers.mjs";
import { node } from "./fleet.mjs";
import { rust } from "./fleets.mjs";
import { program } from "./tools.mjs";

/** The API that the processes of a fleet call. */
const KEY = { key: "api" };

const FIFTY = { law: "fixed", requests: { limit: 50, per: 1_000 } };

/** A new folder, on a new disk if that has options, with gates and a process that share it. */
function place(t, disk) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tidegate-place-"));
  const gates = [];
  const children = [];
  if (disk) execFileSync("mount", ["-t", "tmpfs", "-o", `mode=700,${disk}`, "tmpfs", folder]);
  t.after(async () => {
    // A process that lives would take the seat.
    await Promise.all(children.map((child) => child.kill("SIGKILL") && once(child, "exit")));
    await Promise.all(gates.map((gate) => gate.close()));
    if (disk) execFileSync("umount", ["-l", folder]);
    fs.rmSync(folder, { recursive: true, force: true });
  });
  const gate = (options) => {
    const gate = tidegate({ folder, ...options });
    gates.push(gate);
    return gate;
  };
  /** Another process, once it holds the budget. */
  const holder = async () => {
    const { url } = await api(t, "--limit", "1000");
    const child = node({ member: 1, url, policy: FIFTY, skew: 0, store: "folder", folder });
    children.push(child);
    await once(child, "message");
    child.send({ callers: 1 });
    await new Promise((held) => child.on("message", ({ holds }) => holds && held()));
    return child;
  };
  return { folder, socket: path.join(folder, "default"), gate, holder, children };
}

/** The message of the next request that fails. */
const missed = (gate) => new Promise((tell) => gate.on("missed", ({ error }) => tell(error)));

test("only the user has access to the folder and the socket", async (t) => {
  const { folder, socket, gate } = place(t);
  await gate().run(() => 1);
  assert.equal(fs.statSync(folder).mode & 0o777, 0o700);
  assert.equal(fs.statSync(socket).mode & 0o777, 0o600);
  for (const name of fs.readdirSync(folder)) assert.equal(fs.statSync(path.join(folder, name)).mode & 0o077, 0, name);
});

test("the default folder is the user's own runtime folder, or one for temporary files", { skip: process.platform === "win32" }, async (t) => {
  const base = fs.mkdtempSync(path.join("/tmp", "tidegate-base-"));
  t.after(() => fs.rmSync(base, { recursive: true, force: true }));
  const [own, open, temporary] = ["own", "open", "temporary"].map((name) => path.join(base, name));
  for (const folder of [own, open, temporary]) fs.mkdirSync(folder, { mode: 0o700 });
  fs.chmodSync(open, 0o755);
  fs.mkdirSync(path.join(temporary, "inner"));
  fs.symlinkSync(path.join(temporary, "inner"), path.join(base, "link"));
  const name = path.basename(base);
  // The socket remains, because the process ends without closing its gate.
  const source = `import { tidegate } from "tidegate/local"; await tidegate({ name: ${JSON.stringify(name)} }).run(() => 1); process.exit();`;
  for (const [env, expected] of [
    [{}, "/tmp"],
    [{ TMPDIR: "" }, "/tmp"],
    [{ TMPDIR: "x" }, "/tmp"],
    [{ TMP: temporary, TEMP: temporary }, "/tmp"],
    [{ TMPDIR: temporary, TMP: base }, temporary],
    [{ TMPDIR: `${base}/link/..` }, temporary],
    [{ XDG_RUNTIME_DIR: own, TMPDIR: temporary }, own],
    [{ XDG_RUNTIME_DIR: open, TMPDIR: temporary }, temporary],
    [{ XDG_RUNTIME_DIR: path.join(base, "nowhere") }, "/tmp"],
    [{ XDG_RUNTIME_DIR: "x" }, "/tmp"],
  ]) {
    const { PATH } = process.env;
    await program(source, { env: { PATH, ...env } });
    const folder = path.join(expected, `tidegate-${process.getuid()}`);
    const made = fs.readdirSync(folder).filter((file) => file.startsWith(name));
    assert.ok(made.includes(name), `no socket in ${folder} with ${JSON.stringify(env)}`);
    for (const file of made) fs.rmSync(path.join(folder, file));
  }
});

test("a folder that is open to others is not used, and calls continue", async (t) => {
  const { folder, gate } = place(t);
  fs.chmodSync(folder, 0o755);
  const one = gate();
  const why = missed(one);
  assert.equal(await one.run(() => 7), 7);
  assert.match((await why).message, /is open to others or belongs to another user: make it yours with mode 700/);
  assert.equal(one.stats().alone, 1);
});

test("a file that is not a socket is not replaced, and calls continue", async (t) => {
  const { socket, gate } = place(t);
  fs.writeFileSync(socket, "mine");
  const one = gate();
  const why = missed(one);
  assert.equal(await one.run(() => 7), 7);
  const { message } = await why;
  assert.ok(message.includes(socket) && message.includes("is not a socket"), message);
  await one.close();
  assert.equal(fs.readFileSync(socket, "utf8"), "mine");
});

test("a process that does not answer loses the seat, and grants nothing when it continues", async (t) => {
  const { gate, holder } = place(t);
  const child = await holder();
  const one = gate(FIFTY);
  await one.run(() => 1, KEY);
  child.kill("SIGSTOP");
  while (!one.budget("api")) await one.run(() => 1, KEY);
  assert.equal(one.stats().alone, 0);
  child.kill("SIGCONT");
  // It leases from this process now.
  while (one.budget("api").members < 2) await one.run(() => 1, KEY);
  assert.ok(one.budget("api"));
});

test("files that are deleted give nobody the burst again", async (t) => {
  // The next holder is the former one, or another.
  for (const all of [false, true]) for (const next of [0, 1]) {
    const { folder, gate } = place(t);
    const gates = Array.from({ length: 3 }, () => gate({ law: "fixed", requests: { limit: 1, per: 3_600_000 } }));
    for (const [i, key] of ["one", "two", "api"].entries()) await gates[i].run(() => 1, { key });
    if (all) fs.rmSync(folder, { recursive: true });
    else for (const file of fs.readdirSync(folder)) fs.rmSync(path.join(folder, file));
    await assert.rejects(gates[next].run(() => 1, { ...KEY, deadline: 1_000 }), { code: "DEADLINE_EXCEEDED" }, `${all}, ${next}`);
    assert.ok(gates[next].budget("api"));
  }
});

test("the last record of a former holder is replaced", async (t) => {
  const { folder, gate } = place(t);
  const one = gate({ requests: { limit: 1_000, per: 1_000 } });
  await one.run(() => 1, KEY);
  const record = path.join(folder, fs.readdirSync(folder).find((file) => file.endsWith(".budget")));
  const [old, aside] = [fs.readFileSync(record), path.join(folder, "old")];
  fs.writeFileSync(aside, old);
  fs.renameSync(aside, record);
  while (fs.readFileSync(record).equals(old)) await one.run(() => 1, KEY);
});

test("a holder that ends while twenty keys ask causes no warning", async (t) => {
  const { socket, gate } = place(t);
  const holder = net.createServer((member) => {
    member.on("error", () => {}).write("tidegate\x01");
    let read = 0;
    // The greeting, and twenty requests of at least 24 bytes.
    member.on("data", ({ length }) => (read += length) > 20 * 24 && (holder.close(), member.destroy()));
  }).listen(socket);
  await once(holder, "listening");
  const warnings = [];
  const note = (warning) => warnings.push(warning.message);
  process.on("warning", note);
  t.after(() => process.off("warning", note));
  const one = gate();
  await Promise.all(Array.from({ length: 20 }, (_, i) => one.run(() => 1, { key: `key ${i}` })));
  assert.deepEqual([warnings, one.stats().alone], [[], 0]);
});

test("programs that end without `close` have left at once", async (t) => {
  const { folder, gate } = place(t);
  const one = gate(FIFTY);
  await one.run(() => 1);
  // It calls until it has been seen.
  const calls = `import { tidegate } from "tidegate/local"; const gate = tidegate(${JSON.stringify({ folder, ...FIFTY })}); setInterval(() => gate.run(() => 1), 100);`;
  for (const end of ["process.exit()", 'process.kill(process.pid, "SIGKILL")']) {
    const child = spawn(process.execPath, ["--input-type=module", "-e", `${calls} process.stdin.once("data", () => ${end});`], { cwd: import.meta.dirname });
    while (one.budget().members < 2) await one.run(() => 1);
    child.stdin.write("seen");
    await once(child, "exit");
    // A silent member keeps its share for ten seconds.
    for (let i = 0; i < 100 && one.budget().members > 1; i++) await one.run(() => 1);
    assert.equal(one.budget().members, 1, end);
  }
});

const TEN = { law: "fixed", requests: { limit: 10, per: 1_000 } };

test("a program in Rust with the same policy does not replace it, and one with another does", async (t) => {
  const { folder, gate, children } = place(t);
  const one = gate(FIFTY);
  await one.run(() => 1, KEY);
  const { url } = await api(t, "--limit", "1000");
  for (const [policy, replaces] of [[FIFTY, false], [TEN, true]]) {
    const child = rust({ member: 1, url, policy, folder });
    children.push(child);
    const why = missed(one);
    child.send({ callers: 2 });
    if (replaces) assert.match((await Promise.all([why, saturate(one, () => !one.budget("api"))]))[0].message, /"limit":50.*joined later.*with another: Fixed.*10/);
    else {
      while ((one.stats("api").members ?? 0) < 2) await one.run(() => 1, KEY);
      for (let i = 0; i < 50; i++) await one.run(() => 1, KEY);
      assert.ok(one.budget("api"), "the policies are equal");
    }
  }
});

/** Makes calls until something is true. */
async function saturate(gate, isTrue) {
  while (!isTrue()) await gate.run(() => 1, KEY);
}

test("a damaged file, or another key's, is ignored, and calls continue", async (t) => {
  const { folder, gate } = place(t);
  const file = () => path.join(folder, fs.readdirSync(folder).find((name) => name.endsWith(".budget")));
  const first = gate();
  await first.run(() => 1);
  await first.close();
  const written = fs.readFileSync(file());
  for (const damaged of [new Uint8Array(), written.subarray(0, 30), written.fill(7, 0, 9), written.fill(7)]) {
    fs.writeFileSync(file(), damaged);
    const next = gate();
    assert.equal(await next.run(() => 2), 2);
    await next.close();
  }
});

test("with a full disk, leases continue, and the budget reports why nothing is stored", { skip: !canMount() }, async (t) => {
  const { folder, gate } = place(t, "size=4k");
  const one = gate(FIFTY);
  fs.writeFileSync(path.join(folder, "full"), new Uint8Array(4_096));
  for (let i = 0; i < 10; i++) await one.run(() => 1);
  assert.match(one.budget().unstored, /ENOSPC/);
  assert.equal(one.stats().alone, 0);
  fs.rmSync(path.join(folder, "full"));
  while (one.budget().unstored) await one.run(() => 1);
});

function canMount() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tidegate-mount-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "tmpfs", folder], { stdio: "ignore" });
    execFileSync("umount", [folder]);
    return true;
  } catch {
    return false;
  } finally {
    fs.rmdirSync(folder);
  }
}

test("a holder with another version, or another program, is reported, and calls continue", async (t) => {
  for (const [greeting, named] of [["tidegate\x07", /speaks version 7 of the local protocol, and this one version 1: update/], ["HTTP/1.1 400", /another program than tidegate uses the socket/]]) {
    const { socket, gate } = place(t);
    const server = net.createServer((member) => member.on("error", () => {}).write(greeting)).listen(socket);
    t.after(() => server.close());
    await once(server, "listening");
    const one = gate();
    const why = missed(one);
    assert.equal(await one.run(() => 7), 7);
    assert.match((await why).message, named);
    assert.deepEqual([one.stats().alone, one.budget()], [1, undefined]);
    await one.close();
  }
});

test("a client that sends garbage is disconnected without affecting others", async (t) => {
  const { socket, gate } = place(t);
  const one = gate(FIFTY);
  await one.run(() => 1);
  const head = Buffer.from("tidegate\x01");
  for (const nonsense of [Buffer.from("hello, hello"), Buffer.concat([head, Buffer.alloc(8, 0xff)])]) {
    const stranger = net.connect(socket);
    stranger.on("error", () => {}).write(nonsense);
    stranger.resume();
    await once(stranger, "close");
  }
  // A valid frame with an invalid message gets an error.
  const odd = net.connect(socket);
  odd.write(Buffer.concat([head, Buffer.from([9, 0, 0, 0, 1, 0, 2, 0]), Buffer.from("k??")]));
  let told = Buffer.alloc(0);
  for await (const bytes of odd) {
    told = Buffer.concat([told, bytes]);
    if (told.includes("not a valid request")) break;
  }
  // The greeting, the policy, and the answer.
  assert.deepEqual([...told.subarray(0, 15)], [...head, 0, 0, 0, 0, 2, 0]);
  const answer = told.subarray(17 + told.readUInt16LE(15));
  assert.deepEqual([...answer.subarray(0, 6)], [9, 0, 0, 0, 1, 0]);
  assert.match(answer.subarray(8).toString(), /2 bytes are not a valid request/);
  assert.equal(await one.run(() => 2), 2);
});

test("an idle program ends, even if it holds the budget", async (t) => {
  const { folder } = place(t);
  await program(`import { tidegate } from "tidegate/local"; await tidegate({ folder: ${JSON.stringify(folder)} }).run(() => 1);`);
});

carrier((t) => {
  const { gate, socket } = place(t);
  return { gate, isFree: () => !fs.existsSync(socket) };
}, { name: "mine" }, tidegate);

test("an invalid name or path is rejected at once", () => {
  assert.throws(() => tidegate({ name: "../other" }), (error) => error instanceof PolicyError && /^name is "..\/other"; it must be 1 to 64/.test(error.message));
  assert.throws(() => tidegate({ folder: `/tmp/${"x".repeat(100)}` }), /choose a shorter folder or name/);
});

test("a stream arrives whole, and its tokens are not counted", async (t) => {
  const text = 'data: {"usage":{"total_tokens":300}}\n\n';
  const { url } = await serve(t, () => ({ status: 200, headers: { "content-type": "text/event-stream" }, text }));
  const { gate } = place(t);
  assert.equal(await (await gate(FIFTY).fetch(url)).text(), text);
});

test("a peek says how long a call would wait at least, and asks for nothing", async (t) => {
  const { gate } = place(t);
  const shared = gate(FIFTY);
  assert.deepEqual(shared.peek(), { wait: 0, cause: undefined, waiting: 0, inFlight: 0 });
  assert.equal(shared.stats().asked, 0);
  await shared.run(() => {});
  const calls = Array.from({ length: 100 }, () => shared.run(() => {}));
  const { wait, cause, waiting } = shared.peek();
  assert.ok(cause === "pacing" && waiting >= 90, `${waiting} wait for ${cause}`);
  const since = performance.now();
  await shared.run(() => {});
  assert.ok(wait > 0 && performance.now() - since >= wait, `a wait of ${performance.now() - since}, and ${wait} by the peek`);
  await Promise.all(calls);
});

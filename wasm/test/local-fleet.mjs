// A fleet of processes on one machine that share one budget through a socket, and a real API behind them.

import { spawn } from "node:child_process";
import { EventEmitter } from "node:events";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { node, ProcessFleet } from "./process-fleet.mjs";

const program = process.env.TIDEGATE_LOCAL_MEMBER;
if (!program) throw new Error("TIDEGATE_LOCAL_MEMBER names no program: run `cargo xtask test wasm`");

/** Starts a process in Rust, which reads and writes lines of JSON. */
function rust(told) {
  const child = spawn(program, { stdio: ["pipe", "pipe", "inherit"], env: { ...process.env, TIDEGATE_ISOLATE: JSON.stringify(told) } });
  const events = new EventEmitter();
  createInterface({ input: child.stdout }).on("line", (line) => events.emit("message", JSON.parse(line)));
  child.stdin.on("error", () => {});
  child.on("exit", (code) => events.emit("exit", code));
  return Object.assign(events, {
    send: (what) => child.stdin.write(`${JSON.stringify(what)}\n`),
    kill: (signal) => child.kill(signal),
  });
}

/** Eight processes, four in Node and four in Rust. */
export class LocalFleet extends ProcessFleet {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), "tidegate-local-"));

  begin(told) {
    const all = { ...told, folder: this.folder };
    return told.member % 2 ? rust(all) : node("local-member.mjs", all);
  }

  async dispose() {
    await super.dispose();
    fs.rmSync(this.folder, { recursive: true, force: true });
  }
}

// A Redis server on a separate port that keeps nothing on disk.

import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { createClient } from "redis";

const program = process.env.TIDEGATE_REDIS;
if (!program) throw new Error("TIDEGATE_REDIS names no redis-server: run `cargo xtask test wasm`");

export class Server {
  #folder = fs.mkdtempSync(path.join(os.tmpdir(), "tidegate-redis-"));
  #child;

  async start() {
    this.port ??= await freePort();
    const options = { port: this.port, bind: "127.0.0.1", save: "", appendonly: "no", dir: this.#folder };
    const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
    const child = (this.#child = spawn(program, args, { stdio: "ignore" }));
    await this.tell("PING");
    if (child.exitCode !== null) throw new Error(`redis-server ended with ${child.exitCode}`);
  }

  async tell(...command) {
    const client = createClient({ socket: { host: "127.0.0.1", port: this.port, reconnectStrategy: () => 20 } }).on("error", () => {});
    await client.connect();
    const answer = await client.sendCommand(command);
    client.destroy();
    return answer;
  }

  /** Kills the process, so that all its state is lost. */
  async kill() {
    this.#child.kill("SIGKILL");
    if (this.#child.exitCode === null && !this.#child.signalCode) await once(this.#child, "exit");
  }

  async dispose() {
    await this.kill();
    fs.rmSync(this.#folder, { recursive: true, force: true });
  }
}

async function freePort() {
  const server = net.createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

// The real server of tests/live, on a port of its own.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const program = process.env.TIDEGATE_LIVE;
if (!program) throw new Error("TIDEGATE_LIVE names no server: run `cargo xtask test wasm`");

/** Starts an API with these options, and stops it when the test ends. */
export async function api(test, ...options) {
  const child = spawn(program, ["serve", ...options], { stdio: ["ignore", "pipe", "inherit"] });
  // Not politely: it would wait for the connections that its callers keep open.
  test.after(() => child.kill("SIGKILL"));
  const lines = createInterface({ input: child.stdout });
  const [line] = await new Promise((done, fail) => {
    lines.once("line", (...line) => done(line));
    child.once("exit", (code) => fail(new Error(`the server ended with ${code}`)));
  });
  const url = line.split(" ")[0];
  const counts = async () => {
    const { callers } = await (await fetch(`${url}counts`)).json();
    const sum = { offered: 0, served: 0, throttled: 0 };
    for (const row of callers) for (const name in sum) sum[name] += row[name];
    return sum;
  };
  return { url, counts };
}

// Starts the server of tools/live on a free port, and measures rates on a busy machine.

import { AssertionError } from "node:assert";
import { spawn } from "node:child_process";
import fs from "node:fs";
import { createInterface } from "node:readline";

const program = process.env.TIDEGATE_LIVE;
if (!program) throw new Error("TIDEGATE_LIVE names no server: run `cargo xtask test wasm`");

/** Starts an API with these options, and stops it when the test ends. */
export async function api(test, ...options) {
  const child = spawn(program, ["serve", ...options], { stdio: ["ignore", "pipe", "inherit"] });
  // SIGKILL, because it would wait for the connections that its callers keep open.
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

/** If programs waited for a processor for a larger share of the time, the machine was too busy to measure. */
const BUSY = 0.25;
const TIMES = 6;

/** Microseconds in which a program on this machine waited for a processor; `undefined` if the system does not count them. */
function waited() {
  try {
    return Number(/some .*total=(\d+)/.exec(fs.readFileSync("/proc/pressure/cpu", "utf8"))[1]);
  } catch {
    return undefined;
  }
}

/**
 * Runs a measurement until `good` accepts its result, and returns whether it did. If the machine was busy with
 * other programs during a run, it is repeated; otherwise its result counts. If it was busy during each run, the test is
 * skipped.
 */
export async function measured(t, run, good) {
  for (let time = 1; ; time++) {
    const [since, before] = [performance.now(), waited()];
    let broken;
    try {
      if (good(await run())) return true;
    } catch (error) {
      // A tool may fail for lack of a processor, such as a tab that the browser gives up. What is asserted holds always.
      if (error instanceof AssertionError) throw error;
      broken = error;
    }
    const share = (waited() - before) / 1_000 / (performance.now() - since);
    if (!(share >= BUSY) && broken) throw broken;
    if (share < BUSY) return false;
    if (time === TIMES) {
      t.skip("the machine was too busy to measure");
      return true;
    }
    t.diagnostic(`run ${time} does not count: programs waited for a processor ${(100 * share).toFixed(0)} % of the time`);
  }
}

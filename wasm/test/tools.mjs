// What several tests use.

import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";

/** Where a program that the tests run is installed: all npm packages of the repository are one workspace. */
export const tool = (name) => path.join(import.meta.dirname, "../../node_modules", name);

/** Runs a program in Node, and resolves to what it has written. */
export const program = (source, options) =>
  promisify(execFile)(process.execPath, ["--input-type=module", "-e", source], { cwd: import.meta.dirname, timeout: 60_000, ...options });

/** A generator of numbers below a bound, which anyone can repeat. */
export const chance = (state) => (below) => {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return Math.floor((state / 2 ** 32) * below);
};

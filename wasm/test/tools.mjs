// What several tests use.

import path from "node:path";

/** Where a program that the tests run is installed: all npm packages of the repository are one workspace. */
export const tool = (name) => path.join(import.meta.dirname, "../../node_modules", name);

/** A generator of numbers below a bound, which anyone can repeat. */
export const chance = (state) => (below) => {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return Math.floor((state / 2 ** 32) * below);
};

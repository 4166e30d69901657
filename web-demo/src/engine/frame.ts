/** Reads the frames that the module writes: a row of numbers, described at `Watch::frame` in tools/sim/wasm. */

import type { Frame } from "./index";

const HEAD = 6;

export function decode(row: Float64Array, processes: number): Frame {
  const [now = 0, over = 0, level = 0, rate = 0, from = 0, count = 0] = row;
  let at = HEAD;
  const column = (length: number) => row.subarray(at, at += length);
  return {
    now, over: over !== 0, level, rate,
    bins: {
      from, count,
      offered: column(count), served: column(count), throttled: column(count), left: column(count), waited: column(count),
    },
    waiting: column(processes),
    served: column(processes),
  };
}

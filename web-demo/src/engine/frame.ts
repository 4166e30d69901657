/** Reads the frames that the module writes: a row of numbers, described at `Watch::frame` in tools/sim/wasm. */

import type { Frame } from "./index";

const HEAD = 7;

export function decode(row: Float64Array, processes: number, steps: boolean): Frame {
  const [now = 0, over = 0, level = 0, rate = 0, from = 0, count = 0, stepCount = 0] = row;
  let at = HEAD;
  const column = (length: number) => row.subarray(at, at += length);
  return {
    now, over: over !== 0, level, rate,
    bins: {
      from, count,
      offered: column(count), served: column(count), throttled: column(count), left: column(count), waited: column(count),
      byProcess: { offered: column(count * processes), served: column(count * processes) },
    },
    waiting: column(processes),
    inFlight: Uint32Array.from(column(processes)),
    served: column(processes), throttled: column(processes),
    ...(steps && {
      steps: {
        at: column(stepCount),
        thread: Uint32Array.from(column(stepCount)),
        what: Uint8Array.from(column(stepCount)),
        value: column(stepCount),
      },
    }),
  };
}

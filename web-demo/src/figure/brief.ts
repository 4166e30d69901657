/** A scenario as numbers, as `Scenario::brief` in tools/sim reads it. Times are seconds. */

interface Brief {
  end: number;
  latency: [number, number];
  burst: number;
  start: number;
  perDay: number;
  remaining: boolean;
  processes: number;
  threads: number;
  /** When each of the reader's calls is sent. */
  calls?: number[];
}

export const brief = ({ end, latency, burst, start, perDay, remaining, processes, threads, calls = [] }: Brief): number[] =>
  [end, ...latency, burst, start, perDay, Number(remaining), processes, threads, ...calls];

/** Metrics: their meaning, which direction is better, and how they are written. */

/** The most important metrics, in this order. */
const TELLING = [
  "util", "throttled", "ss_throttled", "jain_process", "jain_worker", "wait_p50_ms", "wait_p99_ms",
  "recovery_s", "up_s", "down_s", "time_over_limit", "server_p50_ms", "peak_1s", "lost",
];

/** Metrics that every run has; others belong to a scenario. */
const USUAL = [
  ...TELLING, "ss_util", "throttles", "wait_max_ms", "latency_p50_ms", "latency_p99_ms", "latency_mean_ms",
  "server_p99_ms", "time_s", "stdev_worker", "calls",
];

const MEANINGS: Record<string, string> = {
  util: "calls served, of those that the server could serve in the time of the run",
  throttled: "calls throttled or failed, of all calls that arrived",
  ss_util: "limit used in the second half of the run",
  ss_throttled: "throttled in the second half of the run",
  jain_process: "fairness between programs (Jain’s index): 1 when all are served the same, 1/n when one of n gets everything",
  jain_worker: "fairness between workers (Jain’s index): 1 when all are served the same",
  time_over_limit: "time for the job, over the shortest possible",
  throttles: "calls throttled or failed",
  wait_p50_ms: "median wait at the gate",
  wait_p99_ms: "99th percentile of the wait at the gate",
  wait_max_ms: "longest wait at the gate",
  latency_p50_ms: "median latency, all attempts of a call together",
  latency_p99_ms: "99th percentile of the latency",
  latency_mean_ms: "mean latency, from the start of a call until it is served",
  server_p50_ms: "median time in the server",
  server_p99_ms: "99th percentile of the time in the server",
  peak_1s: "calls in the busiest second",
  recovery_s: "after an outage, until 90 % of the limit is served again",
  up_s: "after the limit grew, until 90 % of it is served",
  down_s: "after the limit shrank, until at most 5 % are throttled",
  lost: "calls that were given up",
  time_s: "when the job was done",
  stdev_worker: "standard deviation of the calls of the workers",
  calls: "calls that arrived at the server",
};

const STRETCH: Record<string, string> = {
  util: "used, in the stretch", throttled: "throttled, in the stretch", throttles: "calls throttled, in the stretch",
  load: "calls a second, in the stretch", peak: "the busiest bin, in calls a second, of the stretch", jain: "fairness, in the stretch",
};

/** The metrics to show: those that have a meaning here, or all. */
export function shown(rows: Record<string, number | null>[], all: boolean): string[] {
  const names = Object.keys(rows.find((row) => Object.keys(row).length) ?? {});
  if (all) return names;
  const means = (name: string) => rows.some((row) => row[name] != null);
  const dull = (name: string) => name === "lost" && rows.every((row) => !row[name]);
  const own = names.filter((name) => !USUAL.includes(name));
  return [...TELLING, ...own].filter((name) => names.includes(name) && means(name) && !dull(name));
}

/** A metric's meaning in plain words. */
export function meaning(name: string): string {
  const said = MEANINGS[name];
  if (said) return said;
  const end = Object.keys(STRETCH).find((end) => name.endsWith(`_${end}`));
  if (end) return `${STRETCH[end]} “${name.slice(0, -end.length - 1).replaceAll("_", " ")}”`;
  return "how long that took after the change";
}

/** A column's heading. */
export const head = (name: string): string =>
  ({ jain_process: "fairness, programs", jain_worker: "fairness, workers", util: "used", throttled: "throttled", ss_util: "used, 2nd half", ss_throttled: "throttled, 2nd half" })[name]
  ?? name.replace(/_(ms|s)$/, "").replace(/_p(\d+)$/, " p$1").replaceAll("_", " ");

const isBetterHigh = (name: string): boolean => name.split("_").some((part) => ["util", "jain", "least"].includes(part));

/** Metrics that are neither good nor bad. */
const NEUTRAL = ["calls", "stdev_worker"];

type Metrics = Record<string, number | null>;

/**
 * Whether a law's figure can be the best. A wait tells nothing of a law whose calls were rejected and
 * had to come again, nor a latency of one that gave calls up.
 */
const competes = (name: string, { throttles, lost }: Metrics): boolean =>
  !(name.startsWith("wait_") && (throttles || lost)) && !(name.startsWith("latency_") && lost);

/** The rows of the best value in a column: none if all are equal, or the column is neutral. */
export function best(name: string, rows: Metrics[]): number[] {
  const known = rows.filter((row) => row[name] != null);
  const able = known.filter((row) => competes(name, row));
  if (NEUTRAL.includes(name) || name.endsWith("_load") || known.length < 2 || !able.length) return [];
  const figures = able.map((row) => row[name]!);
  const top = written(name, isBetterHigh(name) ? Math.max(...figures) : Math.min(...figures));
  const first = rows.flatMap((row, index) => (able.includes(row) && written(name, row[name]) === top ? [index] : []));
  return first.length < known.length ? first : [];
}

/** A value with three significant digits. */
export function written(name: string, figure: number | null | undefined): string {
  if (figure == null) return "–";
  if (["util", "throttled", "least"].some((end) => name.endsWith(end))) return `${digits(figure * 100)} %`;
  if (name.endsWith("_ms")) return figure >= 1_000 ? `${digits(figure / 1_000)} s` : `${digits(figure)} ms`;
  if (name.endsWith("_s")) return `${digits(figure)} s`;
  if (name.includes("jain") || name === "time_over_limit") return figure.toFixed(3);
  return digits(figure);
}

function digits(figure: number): string {
  const size = Math.abs(figure);
  const places = size >= 100 ? 1 : size >= 1 ? 2 : size >= 0.0995 ? 3 : 4;
  return String(Number(figure.toFixed(places)));
}

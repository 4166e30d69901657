/** Metrics: what their names mean, which way is better, and how they are written. */

/** What people want to know first, in this order. */
const TELLING = [
  "util", "throttled", "ss_throttled", "jain_process", "jain_worker", "wait_p50_ms", "wait_p99_ms",
  "recovery_s", "up_s", "down_s", "time_over_limit", "server_p50_ms", "peak_1s", "lost",
];

/** All that every run has; others are a scenario's own. */
const USUAL = [
  ...TELLING, "ss_util", "throttles", "wait_max_ms", "latency_p50_ms", "latency_p99_ms", "latency_mean_ms",
  "server_p99_ms", "time_s", "stdev_worker", "calls",
];

const MEANINGS: Record<string, string> = {
  util: "of the calls that the server could serve, so many were",
  throttled: "of all calls that arrived, so many were refused or failed",
  ss_util: "used, in the second half of the run",
  ss_throttled: "refused, in the second half of the run",
  jain_process: "fairness between programs: 1 when all were served the same",
  jain_worker: "fairness between workers: 1 when all were served the same",
  time_over_limit: "time for the work, over the least it could take",
  throttles: "calls refused or failed",
  wait_p50_ms: "half of the calls waited for their throttle no longer",
  wait_p99_ms: "99 calls in 100 waited for their throttle no longer",
  wait_max_ms: "the longest that a call waited for its throttle",
  latency_p50_ms: "half of the calls were served within this, all attempts together",
  latency_p99_ms: "99 calls in 100 were served within this",
  latency_mean_ms: "from a call’s beginning until it was served, on average",
  server_p50_ms: "half of the calls stood in the server no longer",
  server_p99_ms: "99 calls in 100 stood in the server no longer",
  peak_1s: "calls in the busiest second",
  recovery_s: "after an outage, until nine tenths of the limit were served again",
  up_s: "after the limit grew, until nine tenths of it were served",
  down_s: "after the limit shrank, until hardly a call was refused",
  lost: "calls given up for good",
  time_s: "when the work was done",
  stdev_worker: "how far workers’ numbers of calls spread",
  calls: "calls that arrived at the server",
};

const STRETCH: Record<string, string> = {
  util: "used, in the stretch", throttled: "refused, in the stretch", throttles: "calls refused, in the stretch",
  load: "calls a second, in the stretch", peak: "the busiest bin, in calls a second, of the stretch", jain: "fairness, in the stretch",
};

/** Which metrics to show of what there is: those with a meaning here, or all of them. */
export function shown(rows: Record<string, number | null>[], all: boolean): string[] {
  const names = Object.keys(rows.find((row) => Object.keys(row).length) ?? {});
  if (all) return names;
  const means = (name: string) => rows.some((row) => row[name] != null);
  const dull = (name: string) => name === "lost" && rows.every((row) => !row[name]);
  const own = names.filter((name) => !USUAL.includes(name));
  return [...TELLING, ...own].filter((name) => names.includes(name) && means(name) && !dull(name));
}

/** In plain words. */
export function meaning(name: string): string {
  const said = MEANINGS[name];
  if (said) return said;
  const end = Object.keys(STRETCH).find((end) => name.endsWith(`_${end}`));
  if (end) return `${STRETCH[end]} “${name.slice(0, -end.length - 1).replaceAll("_", " ")}”`;
  return "how long it took to come to that, from the change on";
}

/** How a column is headed. */
export const head = (name: string): string =>
  ({ jain_process: "fair, programs", jain_worker: "fair, workers", util: "used", throttled: "refused", ss_util: "used, 2nd half", ss_throttled: "refused, 2nd half" })[name]
  ?? name.replace(/_(ms|s)$/, "").replace(/_p(\d+)$/, " p$1").replaceAll("_", " ");

export const isBetterHigh = (name: string): boolean => name.split("_").some((part) => part === "util" || part === "jain");

/** Names that are neither good nor bad. */
const NEUTRAL = ["calls", "stdev_worker"];

/** The index of the best figures in a column: none where all are as good, or nothing is meant by it. */
export function best(name: string, figures: (number | null | undefined)[]): number[] {
  const known = figures.filter((figure) => figure != null);
  if (NEUTRAL.includes(name) || name.endsWith("_load") || known.length < 2) return [];
  const say = (figure: number) => written(name, figure);
  const top = say(isBetterHigh(name) ? Math.max(...known) : Math.min(...known));
  const first = figures.flatMap((figure, index) => (figure != null && say(figure) === top ? [index] : []));
  return first.length < known.length ? first : [];
}

/** A figure as people read it: three digits that count. */
export function written(name: string, figure: number | null | undefined): string {
  if (figure == null) return "–";
  if (["util", "throttled"].some((end) => name.endsWith(end))) return `${digits(figure * 100)} %`;
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

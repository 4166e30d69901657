// The figures of a fleet, from the counts of the API and of the fleet's members.

/** How many calls a second the API allows. */
export const LIMIT = 50;

/**
 * The documented bound of a law with a constant rate: a call, and all leases that can be held. Leases
 * are granted 13/16 of a second ahead, and may be used for half a second after they are due.
 */
export const BOUND = 1 + LIMIT * (0.8125 + 0.5);

/** The figures of a stretch, between two `marks` of a fleet. */
export function figures(fleet, from, to) {
  // A member that has crashed since then counts from zero.
  const since = (now = 0, then = 0) => (now < then ? now : now - then);
  const counted = (name) => to.stats.reduce((sum, told, i) => sum + since(told?.[name], from.stats[i]?.[name]), 0);
  const served = to.live.map((isolate) => (to.served[isolate] ?? 0) - (from.served[isolate] ?? 0));
  const all = served.reduce((a, b) => a + b, 0);
  const offered = to.offered - from.offered;
  const seconds = (to.at - from.at) / 1_000;
  return {
    seconds,
    served: all,
    utilisation: (to.all - from.all) / (to.capacity - from.capacity),
    throttled: offered ? (to.throttled - from.throttled) / offered : 0,
    jain: all ** 2 / (served.length * served.reduce((sum, n) => sum + n * n, 0)),
    local: 1 - counted("delayed") / Math.max(counted("admitted"), 1),
    ready: 1 - counted("without") / Math.max(counted("admitted"), 1),
    alone: counted("alone") / Math.max(counted("admitted"), 1),
    asked: counted("asked") / seconds,
    perCall: counted("asked") / Math.max(counted("admitted"), 1),
    excess: excess(fleet.left.filter((at) => at >= from.clock && at < to.clock), fleet.constructor.limit),
  };
}

/** The present counts of a fleet and its API. */
export async function mark(fleet) {
  const { callers, capacity, works } = await (await fetch(`${fleet.api.url}counts`)).json();
  const sum = (name) => callers.reduce((sum, row) => sum + row[name], 0);
  const served = {};
  for (const work in works) served[work.split("-")[0]] = (served[work.split("-")[0]] ?? 0) + works[work].served;
  const stats = await fleet.stats();
  const live = [...(fleet.live ?? fleet.cells.flat())];
  return { live, at: performance.now(), clock: Date.now(), capacity, all: sum("served"), offered: sum("offered"), throttled: sum("throttled"), served, works, stats };
}

/** The most calls above the limit at any time. */
export function excess(times, perSecond = LIMIT) {
  let level = 0;
  let most = 0;
  let before = -Infinity;
  for (const at of times.toSorted((a, b) => a - b)) {
    level = Math.max(level - ((at - before) * perSecond) / 1_000, 0) + 1;
    most = Math.max(most, level);
    before = at;
  }
  return most;
}

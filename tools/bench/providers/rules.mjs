// What the rules of servers allow. Times are milliseconds.

/**
 * When the last of `calls` calls passes, with the share `left` of the quota, if a single client knows the rule and all
 * calls exist from the start. Without quota, 0.4 of a window is over, or others keep their places for two seconds. `over`
 * is how much more of the first window is over.
 */
export function ideal({ kind, size, rate, cost = 1, limit, period, lasts }, left, calls, over = 0) {
  if (kind === "bucket") return (Math.max(0, calls * cost - size * left) * 1_000) / rate;
  const later = Math.ceil((calls - Math.round(limit * left)) / limit);
  if (kind === "concurrency") return (left ? 0 : 2_000 - lasts) + later * lasts;
  return Math.max(0, later * period - over - (left ? 0 : 0.4 * period));
}

/** The long-term rate of the rule, in calls a second. */
export const rate = ({ kind, rate, cost = 1, limit, period, lasts }) =>
  kind === "bucket" ? rate / cost : (limit * 1_000) / (period ?? lasts);

/** The rule of a plan a hundred times as large, with the provider's own period. */
export const large = (rule, scale) => ({
  ...rule,
  ...(rule.kind === "bucket" && { size: rule.size * 100, rate: (rule.rate * 100) / scale }),
  ...(rule.kind !== "bucket" && rule.period && { limit: rule.limit * 100, period: rule.period * scale }),
});

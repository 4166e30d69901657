// The servers: the providers that tools/live describes, one row each. `scale` is how many times shorter than documented
// its period is. Ratios are kept, and units of headers (such as whole seconds) are not scaled. `tells` is the quota
// (remaining calls or size with every response), only a wait (when it throttles), or nothing.

import fs from "node:fs";

/** The rows. The rate of a bucket is per second. */
export const PROVIDERS = JSON.parse(fs.readFileSync(new URL("../../live/providers.json", import.meta.url), "utf8")).map(({ rule, ...row }) => ({
  ...row,
  rule: rule.kind === "bucket" ? { ...rule, rate: (rule.limit * 1_000) / rule.period } : rule,
}));

/** Whether this response means that the provider throttled the call. */
export const isThrottled = ({ throttled }, status, body) =>
  throttled.status === 200 ? body.includes('"THROTTLED"') : status === throttled.status;

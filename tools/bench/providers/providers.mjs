// The servers, one row each, with the documented limit, headers, statuses and bodies of a provider.
// `scale` is how many times shorter than documented its period is. Ratios are kept, and units of
// headers (such as whole seconds) are not scaled.

import { randomUUID } from "node:crypto";

/** The arguments of a row's functions are the active rule and the time. */
const seconds = (ms) => Math.max(1, Math.ceil(ms / 1_000));
const epoch = (now, ms) => Math.ceil((now + ms) / 1_000);
const iso = (now, ms) => new Date(epoch(now, ms) * 1_000).toISOString().replace(".000", "");

/** A duration in Go's format. */
function go(ms) {
  if (ms < 1_000) return `${Math.ceil(ms)}ms`;
  const all = Math.ceil(ms / 10) / 100;
  const hours = Math.floor(all / 3_600);
  const minutes = Math.floor((all % 3_600) / 60);
  const rest = +(all % 60).toFixed(2);
  return `${hours ? `${hours}h` : ""}${all >= 60 ? `${minutes}m` : ""}${rest}s`;
}

const READ = "2026-11-23";
const MINUTE = 6_000; // ten times shorter
const scaled = { scale: 10 };

const github = (limit, remaining, reset, used) => ({
  "x-ratelimit-limit": limit, "x-ratelimit-remaining": remaining, "x-ratelimit-used": used,
  "x-ratelimit-reset": reset, "x-ratelimit-resource": "core",
});

/** GitHub's primary quota, almost full, beside the exceeded secondary limit. */
const plenty = (now) => github(5_000, 4_700, epoch(now, 3_000_000), 300);

const SECONDARY = {
  message: "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
  documentation_url: "https://docs.github.com/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits",
};

/**
 * The rows. `tells` is the quota (remaining calls or size with every response), only a wait (when
 * it throttles), or nothing. `said` is the wait in milliseconds in the response to a throttled
 * call.
 */
export const PROVIDERS = [
  {
    name: "OpenAI, requests", tells: "quota", ...scaled,
    documented: "60 requests a minute, a bucket of 60 that refills continuously; headers with every response; 429",
    rule: { kind: "bucket", size: 60, rate: 10 },
    headers: (at, now) => ({
      "x-ratelimit-limit-requests": at.limit, "x-ratelimit-remaining-requests": at.left(now), "x-ratelimit-reset-requests": go(at.reset(now)),
      "x-ratelimit-limit-tokens": 150_000, "x-ratelimit-remaining-tokens": 149_000, "x-ratelimit-reset-tokens": "400ms",
    }),
    throttled: { status: 429, body: { error: { message: "Rate limit reached for requests", type: "requests", param: null, code: "rate_limit_exceeded" } } },
    said: (at, now) => at.reset(now),
    source: "https://platform.openai.com/docs/guides/rate-limits", read: READ,
  },
  {
    name: "OpenAI, tokens", tells: "quota", ...scaled, method: "POST",
    documented: "150,000 tokens a minute, a bucket as above; here each call takes 2,500, as its body says, and requests are not limited; POST",
    rule: { kind: "bucket", size: 150_000, rate: 25_000, cost: 2_500 },
    headers: (at, now) => ({
      "x-ratelimit-limit-requests": 10_000, "x-ratelimit-remaining-requests": 9_990, "x-ratelimit-reset-requests": "6ms",
      "x-ratelimit-limit-tokens": at.size, "x-ratelimit-remaining-tokens": Math.floor(at.points(now)), "x-ratelimit-reset-tokens": go(at.reset(now)),
    }),
    served: ({ cost }) => ({
      object: "chat.completion", choices: [{ index: 0, message: { role: "assistant", content: "served" }, finish_reason: "stop" }],
      usage: { prompt_tokens: cost - 500, completion_tokens: 500, total_tokens: cost },
    }),
    throttled: { status: 429, body: { error: { message: "Rate limit reached for tokens", type: "tokens", param: null, code: "rate_limit_exceeded" } } },
    said: (at, now) => at.reset(now),
    source: "https://platform.openai.com/docs/guides/rate-limits", read: READ,
  },
  {
    name: "Anthropic", tells: "quota", ...scaled,
    documented: "50 requests a minute, a token bucket; resets as RFC 3339 times in whole seconds; 429 with retry-after",
    rule: { kind: "bucket", size: 50, rate: 25 / 3 },
    headers: (at, now) => ({
      "anthropic-ratelimit-requests-limit": at.limit, "anthropic-ratelimit-requests-remaining": at.left(now),
      "anthropic-ratelimit-requests-reset": iso(now, at.reset(now)),
    }),
    throttled: {
      status: 429, headers: (at, now) => ({ "retry-after": seconds(at.wait(now)) }),
      body: { type: "error", error: { type: "rate_limit_error", message: "Number of requests has exceeded your rate limit." } },
    },
    said: (at, now) => seconds(at.wait(now)) * 1_000,
    source: "https://platform.claude.com/docs/en/api/rate-limits",
  },
  {
    name: "GitHub, primary", tells: "quota", scale: 720, octokit: true,
    documented: "60 requests an hour without a token, a fixed window; reset in epoch seconds; 403, nothing remaining",
    rule: { kind: "window", limit: 60, period: 5_000, seconds: true },
    headers: (at, now) => github(at.limit, at.left(now), epoch(now, at.reset(now)), at.limit - at.left(now)),
    throttled: { status: 403, body: { message: "API rate limit exceeded for 127.0.0.1.", documentation_url: "https://docs.github.com/rest/overview/rate-limits-for-the-rest-api" } },
    said: (at, now) => at.reset(now),
    source: "https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api", read: READ,
  },
  {
    name: "GitHub, secondary", tells: "wait", ...scaled, octokit: true,
    documented: "900 points a minute, one per GET; 403 with retry-after, while the primary quota remains",
    rule: { kind: "window", limit: 90, period: MINUTE },
    headers: (_, now) => plenty(now),
    throttled: { status: 403, headers: (at, now) => ({ "retry-after": seconds(at.wait(now)) }), body: SECONDARY },
    said: (at, now) => seconds(at.wait(now)) * 1_000,
    source: "https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api", read: READ,
  },
  {
    name: "GitHub, secondary, no Retry-After", tells: "nothing", scale: 1, octokit: true,
    documented: "900 points a minute, here with 5 points a call; 403 without retry-after: wait for at least a minute",
    rule: { kind: "window", limit: 180, period: 60_000 },
    headers: (_, now) => plenty(now),
    throttled: { status: 403, body: SECONDARY },
    said: () => 60_000,
    source: "https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api", read: READ,
  },
  {
    name: "Shopify REST", tells: "quota", scale: 1,
    documented: "a leaky bucket of 40, 2 a second; used and limit with every response; 429 with Retry-After: 2.0",
    rule: { kind: "bucket", size: 40, rate: 2 },
    headers: (at, now) => ({ "x-shopify-shop-api-call-limit": `${at.limit - at.left(now)}/${at.limit}` }),
    throttled: { status: 429, headers: () => ({ "retry-after": "2.0" }), body: { errors: "Exceeded 2 calls per second for api client. Reduce request rates to resume uninterrupted service." } },
    said: () => 2_000,
    source: "https://shopify.dev/docs/api/admin-rest/usage/rate-limits", read: READ,
  },
  {
    name: "Shopify GraphQL", tells: "quota", scale: 1, method: "POST",
    documented: "100 points a second, a bucket of 2,000, here 20 a query; POST; throttled with status 200 and THROTTLED in the body, which also reports the bucket",
    rule: { kind: "bucket", size: 2_000, rate: 100, cost: 20 },
    headers: () => ({}),
    served: (at, now) => ({ data: { shop: { name: "served" } }, extensions: cost(at, now, at.cost) }),
    throttled: {
      status: 200,
      body: (at, now) => ({ errors: [{ message: "Throttled", extensions: { code: "THROTTLED", documentation: "https://shopify.dev/api/usage/rate-limits" } }], extensions: cost(at, now, null) }),
    },
    said: (at, now) => at.wait(now),
    source: "https://shopify.dev/docs/apps/build/apis/graphql-admin/rate-limits", read: READ,
  },
  {
    name: "Stripe", tells: "nothing", scale: 1,
    documented: "25 requests a second in a sandbox; 429 with Stripe-Rate-Limited-Reason, no wait",
    rule: { kind: "bucket", size: 25, rate: 25 },
    headers: () => ({ "request-id": `req_${randomUUID().slice(0, 14)}` }),
    throttled: {
      status: 429, headers: () => ({ "stripe-rate-limited-reason": "global-rate" }),
      body: { error: { code: "rate_limit", message: "Request rate limit exceeded.", type: "invalid_request_error" } },
    },
    source: "https://docs.stripe.com/rate-limits", read: READ,
  },
  {
    name: "Slack, tier 3", tells: "wait", ...scaled,
    documented: "50 requests a minute; 429 with Retry-After in whole seconds",
    rule: { kind: "window", limit: 50, period: MINUTE },
    headers: () => ({}),
    throttled: { status: 429, headers: (at, now) => ({ "retry-after": seconds(at.wait(now)) }), body: { ok: false, error: "ratelimited" } },
    said: (at, now) => seconds(at.wait(now)) * 1_000,
    source: "https://docs.slack.dev/apis/web-api/rate-limits", read: READ,
  },
  {
    name: "Discord", tells: "quota", scale: 1,
    documented: "a bucket for each route, here 5 a second as in its example; Reset and Reset-After with milliseconds; 429 with Retry-After",
    rule: { kind: "window", limit: 5, period: 1_000 },
    headers: (at, now) => ({
      "x-ratelimit-limit": at.limit, "x-ratelimit-remaining": at.left(now), "x-ratelimit-reset": ((now + at.reset(now)) / 1_000).toFixed(3),
      "x-ratelimit-reset-after": (at.reset(now) / 1_000).toFixed(3), "x-ratelimit-bucket": "abcd1234",
    }),
    throttled: {
      status: 429, headers: (at, now) => ({ "retry-after": (at.wait(now) / 1_000).toFixed(3), "x-ratelimit-scope": "user" }),
      body: (at, now) => ({ message: "You are being rate limited.", retry_after: at.wait(now) / 1_000, global: false }),
    },
    said: (at, now) => at.wait(now),
    source: "https://docs.discord.com/developers/topics/rate-limits", read: READ,
  },
  {
    name: "Google, RetryInfo", tells: "wait", ...scaled,
    documented: "60 requests a minute; 429 RESOURCE_EXHAUSTED with google.rpc.RetryInfo in the body, no header",
    rule: { kind: "window", limit: 60, period: MINUTE },
    headers: () => ({}),
    throttled: {
      status: 429,
      body: (at, now) => ({
        error: {
          code: 429, message: "You exceeded your current quota, please check your plan and billing details.", status: "RESOURCE_EXHAUSTED",
          details: [
            { "@type": "type.googleapis.com/google.rpc.QuotaFailure", violations: [{ quotaMetric: "generate_content_requests", quotaId: "GenerateRequestsPerMinutePerProjectPerModel" }] },
            { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: `${(at.wait(now) / 1_000).toFixed(6)}s` },
          ],
        },
      }),
    },
    said: (at, now) => at.wait(now),
    source: "https://github.com/googleapis/googleapis/blob/master/google/rpc/error_details.proto", read: READ,
  },
  {
    name: "Google Calendar", tells: "nothing", ...scaled,
    documented: "600 requests a minute and user, a sliding window, here of 60; 403 userRateLimitExceeded, no wait",
    rule: { kind: "sliding", limit: 60, period: MINUTE },
    headers: () => ({}),
    throttled: {
      status: 403,
      body: { error: { errors: [{ domain: "usageLimits", reason: "userRateLimitExceeded", message: "User Rate Limit Exceeded" }], code: 403, message: "User Rate Limit Exceeded" } },
    },
    source: "https://developers.google.com/workspace/calendar/api/guides/quota", read: READ,
  },
  {
    name: "AWS", tells: "nothing", scale: 1,
    documented: "a token bucket, here 50 and 10 a second as for DescribeInstances; ThrottlingException with status 400, no wait",
    rule: { kind: "bucket", size: 50, rate: 10 },
    headers: () => ({ "x-amzn-requestid": randomUUID() }),
    throttled: {
      status: 400, headers: () => ({ "x-amzn-errortype": "ThrottlingException", "content-type": "application/x-amz-json-1.1" }),
      body: { __type: "ThrottlingException", message: "Rate exceeded" },
    },
    source: "https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-throttling.html", read: READ,
  },
  {
    name: "Azure Resource Manager", tells: "quota", scale: 1, method: "DELETE",
    documented: "deletes: a bucket of 200, 10 a second; remaining calls with every response; 429 with Retry-After",
    rule: { kind: "bucket", size: 200, rate: 10 },
    headers: (at, now) => ({ "x-ms-ratelimit-remaining-subscription-deletes": at.left(now) }),
    throttled: {
      status: 429, headers: (at, now) => ({ "retry-after": seconds(at.wait(now)) }),
      body: { error: { code: "SubscriptionRequestsThrottled", message: "Number of requests for subscription exceeded the limit. Please try again later." } },
    },
    said: (at, now) => seconds(at.wait(now)) * 1_000,
    source: "https://learn.microsoft.com/en-us/azure/azure-resource-manager/management/request-limits-and-throttling", read: READ,
  },
  {
    name: "GitLab", tells: "quota", ...scaled,
    documented: "60 API requests a minute and user, a fixed window; RateLimit-* with every response; 429 with Retry-After",
    rule: { kind: "window", limit: 60, period: MINUTE, seconds: true },
    headers: (at, now) => ({
      "ratelimit-limit": at.limit, "ratelimit-name": "throttle_authenticated_api", "ratelimit-observed": at.limit - at.left(now),
      "ratelimit-remaining": at.left(now), "ratelimit-reset": epoch(now, at.reset(now)),
    }),
    throttled: {
      status: 429, text: "Retry later\n",
      headers: (at, now) => ({
        "content-type": "text/plain", "retry-after": seconds(at.wait(now)), "ratelimit-resettime": new Date(epoch(now, at.reset(now)) * 1_000).toUTCString(),
      }),
    },
    said: (at, now) => seconds(at.wait(now)) * 1_000,
    source: "https://docs.gitlab.com/administration/settings/user_and_ip_rate_limits/", read: READ,
  },
  {
    name: "Notion", tells: "wait", scale: 1,
    documented: "3 requests a second on average, some bursts (here 10); 429 with Retry-After in whole seconds",
    rule: { kind: "bucket", size: 10, rate: 3 },
    headers: () => ({}),
    throttled: {
      status: 429, headers: (at, now) => ({ "retry-after": seconds(at.wait(now)) }),
      body: { object: "error", status: 429, code: "rate_limited", message: "You have been rate limited. Please try again in a few minutes." },
    },
    said: (at, now) => seconds(at.wait(now)) * 1_000,
    source: "https://developers.notion.com/reference/request-limits", read: READ,
  },
  {
    name: "silent bucket", tells: "nothing", scale: 1, documented: "a bucket of 3, 7 a second; a bare 429",
    rule: { kind: "bucket", size: 3, rate: 7 }, headers: () => ({}), throttled: { status: 429, text: "" },
  },
  {
    name: "silent window", tells: "nothing", scale: 1, documented: "100 a minute, a fixed window; a bare 429",
    rule: { kind: "window", limit: 100, period: 60_000 }, headers: () => ({}), throttled: { status: 429, text: "" },
  },
  {
    name: "one-second window", tells: "quota", scale: 1,
    documented: "10 a second, a fixed window; X-RateLimit-* with the reset in whole seconds from now, so always 1; 429",
    rule: { kind: "window", limit: 10, period: 1_000 },
    headers: (at, now) => ({ "x-ratelimit-limit": at.limit, "x-ratelimit-remaining": at.left(now), "x-ratelimit-reset": seconds(at.reset(now)) }),
    throttled: { status: 429, text: "" },
    said: (at, now) => seconds(at.reset(now)) * 1_000,
  },
  {
    name: "concurrency limit", tells: "nothing", scale: 1, documented: "5 calls at a time, each takes 100 ms; a bare 503",
    rule: { kind: "concurrency", limit: 5, lasts: 100 }, headers: () => ({}), throttled: { status: 503, text: "" },
  },
];

/** The cost of a query in a GraphQL response. */
function cost(at, now, actual) {
  return {
    cost: {
      requestedQueryCost: at.cost, actualQueryCost: actual,
      throttleStatus: { maximumAvailable: at.size, currentlyAvailable: Math.floor(at.points(now)), restoreRate: at.rate },
    },
  };
}

/** Whether this response means that the provider throttled the call. */
export const isThrottled = ({ throttled }, status, body) =>
  throttled.status === 200 ? body.includes('"THROTTLED"') : status === throttled.status;

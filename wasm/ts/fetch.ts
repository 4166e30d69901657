/** `fetch` through a gate: which requests may be repeated, which cannot succeed, and how long a call lasts. */

import { held, looked } from "./body.js";
import type { Manner, Parts } from "./gate.js";
import { checkCall, type FetchOptions, type Key, type Options, type RunOptions, type Target } from "./options.js";

const IDEMPOTENT = /^(GET|HEAD|OPTIONS|PUT|DELETE)$/i;

type Go = (work: (signal: AbortSignal) => Promise<Response>, options: RunOptions<Response, Key>, manner: Manner<Response>, more: AbortSignal | null | undefined) => Promise<Response>;

/** Creates the `fetch` of a gate. `go` runs its calls. */
export const fetcher = ({ fetch: given, key: keyOf = originOf }: Pick<Options<Key>, "fetch" | "key">, go: Go, parts: Parts) =>
  async (input: string | URL | Request, init?: RequestInit, call: FetchOptions<Key> = {}): Promise<Response> => {
    checkCall(call, parts);
    const request = typeof input === "object" && "method" in input ? input : undefined;
    const target = { url: request?.url ?? String(input), method: init?.method ?? request?.method ?? "GET" };
    const body = init?.body ?? request?.body;
    // Throws for an invalid request, as `fetch` would, before anything is sent. jsdom has no such class.
    if (globalThis.Request) new Request(given ? "http://localhost" : target.url, { ...init, method: target.method, body: body == null ? null : "", signal: null });
    if (request?.bodyUsed) throw new TypeError("the body of this Request was already read: clone the Request for each call");
    const { release, outcome, actualCost, ...rest } = call;
    const headers = init?.headers ?? request?.headers;
    const isIdempotent = IDEMPOTENT.test(target.method) || (!!globalThis.Headers && new Headers(headers).has("idempotency-key"));
    // A stream cannot be sent again; old ones have only a `pipe`. The body of a Request can: it is cloned. Firefox does not tell whether it has one.
    const own = init?.body;
    const once = typeof own === "object" && own !== null && ["getReader", "pipe", Symbol.asyncIterator].some((name) => name in own);
    const copies = request && rest.retry !== false && !own && request.body !== null;
    const wrapped = given ?? globalThis.fetch;
    const work = (...[signal]: [AbortSignal?]) => wrapped(copies ? request.clone() : input, signal ? { ...init, signal } : init);
    const key = rest.key ?? keyOf(target);
    const manner: Manner<Response> = {
      once,
      // After a redirect to another origin, the response does not describe this origin's limits.
      read(response, core) {
        if (response.redirected && originOf(response) !== originOf(target)) return response.status < 429 ? "ok" : "failed";
        return parts.bodies?.read(core, response, target.method) ?? response;
      },
      streams: (response, core) => release !== "headers" && parts.bodies?.isStream(core, response),
      hold(response, signal, free, end, look) {
        if (release === "headers") free();
        return held(response, signal, end, look);
      },
    };
    const options = {
      ...rest, key, retry: rest.retry ?? (isIdempotent || undefined),
      outcome: outcome && (({ value, error }: { value?: Response; error?: unknown }) => (value ? looked(value, (value) => outcome({ value })) : outcome({ error }))),
      actualCost: actualCost && ((value: Response) => looked(value, actualCost)),
    };
    return go(work, options, manner, init?.signal ?? request?.signal);
  };

/** The origin of a URL, which may be relative in a page. */
function originOf({ url }: Pick<Target, "url">): string {
  return new URL(url, globalThis.location?.href).origin;
}

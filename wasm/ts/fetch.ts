/** `fetch` by a gate: what may be sent twice, what cannot succeed, and how long a call lasts. */

import { excerpt, held, looked } from "./body.js";
import type { Manner } from "./gate.js";
import { checkCall, type FetchOptions, type Options, type RunOptions, type Target } from "./options.js";
import { isTelling } from "./reply.js";

const IDEMPOTENT = /^(GET|HEAD|OPTIONS|PUT|DELETE)$/i;

type Go = (work: (signal: AbortSignal) => Promise<Response>, options: RunOptions<Response>, manner: Manner<Response>, more: AbortSignal | null | undefined) => Promise<Response>;

/** Makes the `fetch` of a gate whose calls `go` runs. */
export const fetcher = ({ fetch: given, key: keyOf = originOf }: Options, go: Go) =>
  async (input: string | URL | Request, init?: RequestInit, call: FetchOptions = {}): Promise<Response> => {
    checkCall(call);
    const request = typeof input === "object" && "method" in input ? input : undefined;
    const target = { url: request?.url ?? String(input), method: init?.method ?? request?.method ?? "GET" };
    const body = init?.body ?? request?.body;
    // What is wrong with the call itself throws here, as `fetch` would: nothing was sent.
    new Request(given ? "http://localhost" : target.url, { ...init, method: target.method, body: body == null ? null : "", signal: null });
    if (request?.bodyUsed) throw new TypeError("the body of this Request was read before: clone it for each call");
    const { release, outcome, actualCost, ...rest } = call;
    const headers = init?.headers ?? request?.headers;
    const retry = rest.retry ?? (IDEMPOTENT.test(target.method) || new Headers(headers).has("idempotency-key"));
    // What has been read from a stream cannot be sent again. A Request's own body can, by a clone.
    const own = init?.body;
    const once = typeof own === "object" && own !== null && ("getReader" in own || Symbol.asyncIterator in own);
    const unsafe = !retry && rest.retry === undefined ? "method" : once ? "body" : undefined;
    const copies = request && rest.retry !== false && !own && body;
    const wrapped = given ?? globalThis.fetch;
    const work = (...[signal]: [AbortSignal?]) => wrapped(copies ? request.clone() : input, signal ? { ...init, signal } : init);
    const key = rest.key ?? keyOf(target);
    const manner: Manner<Response> = {
      unsafe,
      // What another origin says, to which the server has redirected, is not said of this one's limits.
      read(response, core) {
        if (response.redirected && originOf(response) !== originOf(target)) return response.status < 429 ? "ok" : "failed";
        if (!isTelling(core, response, target.method)) return response;
        return looked(response, async (copy) => ({ status: response.status, headers: response.headers, excerpt: await excerpt(copy) }));
      },
      hold(response, signal, free, end) {
        if (release === "headers") free();
        return held(response, signal, end);
      },
    };
    const options = {
      ...rest, key, retry,
      outcome: outcome && (({ value, error }: { value?: Response; error?: unknown }) => (value ? looked(value, (value) => outcome({ value })) : outcome({ error }))),
      actualCost: actualCost && ((value: Response) => looked(value, actualCost)),
    };
    return go(work, options, manner, init?.signal ?? request?.signal);
  };

/** The origin of a URL, which in a page may be relative. */
function originOf({ url }: Pick<Target, "url">): string {
  return new URL(url, globalThis.location?.href).origin;
}

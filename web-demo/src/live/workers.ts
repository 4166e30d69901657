/** The reader's workers: each makes one call after another, with or without a gate. */

import type { Cause, Gate, Law } from "tidegate";

/** `plain`: the browser's fetch without a gate. */
export type How = "plain" | Extract<Law, "adaptive" | "backoff" | "none">;

export interface Counts {
  /** Calls that were sent. */
  sent: number;
  served: number;
  throttled: number;
  /** Calls that failed: the server was down or not reachable. */
  failed: number;
  /** For each reason, the number of waits and their total length. */
  waits: Record<Cause, { times: number; ms: number }>;
  /** The last wait. */
  wait: number;
}

const CAUSES: Cause[] = ["pacing", "cooldown", "concurrency", "retryBudget"];

const nothing = (): Counts => ({
  sent: 0, served: 0, throttled: 0, failed: 0, wait: 0,
  waits: Object.fromEntries(CAUSES.map((cause) => [cause, { times: 0, ms: 0 }])) as Counts["waits"],
});

/** How long a worker pauses if the server is not reachable, ms. */
const REST = 300;

export class Workers {
  counts = nothing();
  #gate: Gate | null = null;
  #stop: AbortController | null = null;
  #url: string | null = null;
  #away = new AbortController();

  /** The API's present address; a demo's next law has another. Calls to the old address are aborted. */
  set url(url: string | null) {
    if (url === this.#url) return;
    this.#url = url;
    this.#away.abort();
    this.#away = new AbortController();
  }

  get running(): boolean {
    return this.#stop !== null;
  }

  /** The gate's pacing: milliseconds between calls, and how many calls wait. */
  get pace(): { interval: number; waiting: number } | null {
    return this.#gate && this.#url ? this.#gate.stats(new URL(this.#url).origin) : null;
  }

  async start(number: number, how: How): Promise<void> {
    this.stop();
    const stop = (this.#stop = new AbortController());
    this.counts = nothing();
    let gate: Gate | null;
    try {
      gate = how === "plain" ? null : await this.#open(how);
    } catch (error) {
      // Does not stop workers that have been started again.
      if (this.#stop === stop) this.stop();
      throw error;
    }
    if (stop.signal.aborted) return gate?.close();
    this.#gate = gate;
    for (let worker = 0; worker < number; worker++) void this.#work(gate, stop.signal);
  }

  stop(): void {
    this.#stop?.abort();
    this.#gate?.close();
    [this.#stop, this.#gate] = [null, null];
  }

  async #open(law: Exclude<How, "plain">): Promise<Gate> {
    const { tidegate } = await import("tidegate");
    const { counts } = this;
    const gate = tidegate({ law, fetch: (input, init) => send(counts, String(input), init) });
    gate.on("wait", ({ cause, ms }) => {
      counts.waits[cause].times++;
      counts.waits[cause].ms += ms;
      counts.wait = ms;
    });
    return gate;
  }

  async #work(gate: Gate | null, signal: AbortSignal): Promise<void> {
    const { counts } = this;
    while (!signal.aborted) {
      try {
        const url = this.#url;
        if (!url) throw new TypeError("the server is not reachable");
        const init = { signal: AbortSignal.any([signal, this.#away.signal]) };
        const answer = gate ? await gate.fetch(url, init) : await send(counts, url, init);
        // Reads the body to its end, so that the connection can be reused.
        await answer.arrayBuffer();
      } catch {
        if (!signal.aborted) await new Promise((wake) => setTimeout(wake, REST));
      }
    }
  }
}

/** Sends one call and counts it. */
async function send(counts: Counts, url: string, init?: RequestInit): Promise<Response> {
  counts.sent++;
  try {
    const answer = await fetch(url, { ...init, cache: "no-store" });
    if (answer.ok) counts.served++;
    // The statuses with which the server's hint families throttle. In an outage, all send 503.
    else if ([400, 403, 429].includes(answer.status)) counts.throttled++;
    else counts.failed++;
    return answer;
  } catch (error) {
    if (!init?.signal?.aborted) counts.failed++;
    throw error;
  }
}

/** The reader's workers: each makes one call after another, with or without a gate. */

import type { Cause, Gate, Law } from "tidegate";

/** `plain`: the browser's fetch without a gate. */
export type How = "plain" | Extract<Law, "adaptive" | "backoff" | "none">;

export interface Counts { sent: number; served: number; throttled: number }

/** The waits of the present gate. */
export interface Waits {
  /** For each reason, the number of waits and their total length. */
  causes: Record<Cause, { times: number; ms: number }>;
  last: number;
}

const CAUSES: Cause[] = ["pacing", "cooldown", "concurrency", "retryBudget"];

const none = (): Counts => ({ sent: 0, served: 0, throttled: 0 });
const nothing = (): Waits => ({ last: 0, causes: Object.fromEntries(CAUSES.map((cause) => [cause, { times: 0, ms: 0 }])) as Waits["causes"] });

/** How long a worker pauses if the server is not reachable, ms. */
const REST = 300;

export class Workers {
  /** Calls since the page was opened. They never restart, so that they stay equal to the server's. */
  readonly counts = none();
  /** Calls through the present gate, and when it began, ms. */
  lately = none();
  since = 0;
  waits = nothing();
  /** The present choice. Without a gate, calls are not paced. */
  #chosen: { how: How; gate: Gate | null } | null = null;
  #stop: AbortController | null = null;
  #url: string | null = null;
  #away = new AbortController();

  /** The API's present address; a demo's next law has another. Calls that wait for the old address are dropped. */
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
    return this.#chosen?.gate && this.#url ? this.#chosen.gate.stats(new URL(this.#url).origin) : null;
  }

  /** Another number of workers keeps the gate, and what it has learned. */
  async start(number: number, how: How): Promise<void> {
    let chosen = this.#chosen?.how === how ? this.#chosen : null;
    if (chosen) this.#stop?.abort();
    else {
      this.stop();
      [this.waits, this.lately, this.since] = [nothing(), none(), performance.now()];
    }
    const stop = (this.#stop = new AbortController());
    try {
      chosen ??= { how, gate: how === "plain" ? null : await this.#open(how) };
    } catch (error) {
      // Does not stop workers that have been started again.
      if (this.#stop === stop) this.stop();
      throw error;
    }
    if (stop.signal.aborted) return chosen.gate?.close();
    this.#chosen = chosen;
    for (let worker = 0; worker < number; worker++) void this.#work(chosen.gate, stop.signal);
  }

  stop(): void {
    this.#stop?.abort();
    this.#chosen?.gate?.close();
    [this.#stop, this.#chosen] = [null, null];
  }

  async #open(law: Exclude<How, "plain">): Promise<Gate> {
    const { tidegate } = await import("tidegate");
    const { waits } = this;
    const gate = tidegate({ law, fetch: (input) => this.#send(String(input)) });
    gate.on("wait", ({ cause, ms }) => {
      waits.causes[cause].times++;
      waits.causes[cause].ms += ms;
      waits.last = ms;
    });
    return gate;
  }

  async #work(gate: Gate | null, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        const url = this.#url;
        if (!url) throw new TypeError("the server is not reachable");
        const init = { signal: AbortSignal.any([signal, this.#away.signal]) };
        const answer = gate ? await gate.fetch(url, init) : await this.#send(url);
        // Reads the body to its end, so that the connection can be reused.
        await answer.arrayBuffer();
      } catch {
        if (!signal.aborted) await new Promise((wake) => setTimeout(wake, REST));
      }
    }
  }

  /** Sends one call and counts it. A call that was sent is never aborted: the server counts it too. */
  async #send(url: string): Promise<Response> {
    // The answer counts where the call does, even if it comes after a change of the gate.
    const both = [this.counts, this.lately];
    for (const counts of both) counts.sent++;
    const answer = await fetch(url, { cache: "no-store" });
    for (const counts of both) {
      if (answer.ok) counts.served++;
      // The statuses with which the server's hint families throttle. In an outage, all send 503.
      else if ([400, 403, 429].includes(answer.status)) counts.throttled++;
    }
    return answer;
  }
}

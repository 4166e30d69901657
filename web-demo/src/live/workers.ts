/** The reader's workers: each always has another call to make, with a gate between or without. */

import type { Cause, Gate, Law } from "tidegate";
import { engine } from "../engine";

/** `plain`: the browser's fetch, with nothing before it. */
export type How = "plain" | Extract<Law, "adaptive" | "backoff" | "none">;

export interface Counts {
  /** Calls that went out over the wire. */
  sent: number;
  served: number;
  throttled: number;
  /** Neither: the server was down, or away. */
  failed: number;
  /** How many waits each reason has caused, and how long they were together. */
  waits: Record<Cause, { times: number; ms: number }>;
  /** The wait that was handed out last. */
  wait: number;
}

const CAUSES: Cause[] = ["pacing", "cooldown", "concurrency", "retryBudget"];

const nothing = (): Counts => ({
  sent: 0, served: 0, throttled: 0, failed: 0, wait: 0,
  waits: Object.fromEntries(CAUSES.map((cause) => [cause, { times: 0, ms: 0 }])) as Counts["waits"],
});

/** How long a worker rests whose server is away. */
const REST = 300;

export class Workers {
  counts = nothing();
  #gate: Gate | null = null;
  #stop: AbortController | null = null;
  #url: string | null = null;
  #away = new AbortController();

  /** Where the API is at present; the next law of a demo has it elsewhere. Calls to the old place are given up. */
  set url(url: string | null) {
    if (url === this.#url) return;
    this.#url = url;
    this.#away.abort();
    this.#away = new AbortController();
  }

  get running(): boolean {
    return this.#stop !== null;
  }

  /** What the gate says of its pacing: milliseconds between calls, and how many of them wait. */
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
      // Workers that have been started again since are not stopped by this.
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
    // The page's engine has found out already whether WebAssembly is allowed here.
    const { kind } = await engine();
    const { tidegate } = kind === "wasm" ? await import("tidegate") : await import("tidegate/js");
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
        if (!url) throw new TypeError("the server is away");
        const init = { signal: AbortSignal.any([signal, this.#away.signal]) };
        const answer = gate ? await gate.fetch(url, init) : await send(counts, url, init);
        // Read to its end, so that the connection can carry the next call.
        await answer.arrayBuffer();
      } catch {
        if (!signal.aborted) await new Promise((wake) => setTimeout(wake, REST));
      }
    }
  }
}

/** One call over the wire, counted. */
async function send(counts: Counts, url: string, init?: RequestInit): Promise<Response> {
  counts.sent++;
  try {
    const answer = await fetch(url, { ...init, cache: "no-store" });
    if (answer.ok) counts.served++;
    // What the server's families of hints throttle with; in an outage it is 503 from all.
    else if ([400, 403, 429].includes(answer.status)) counts.throttled++;
    else counts.failed++;
    return answer;
  } catch (error) {
    if (!init?.signal?.aborted) counts.failed++;
    throw error;
  }
}

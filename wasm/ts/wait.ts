/** Waiting that can be given up. */

import { Late } from "./errors.js";

/** The longest delay that a timer takes, 24.8 days; longer ones fire at once. */
const LONGEST = 0x7fffffff;

/** Timers count whole milliseconds, and who wakes early must sleep again. */
export function delay(ms: number): number {
  return Math.min(Math.max(Math.ceil(ms), 0), LONGEST);
}

/** Calls back in the next turn of the event loop. A timer of Node may fire again and again in one turn. */
export function turn(then: () => void): void {
  ((globalThis as { setImmediate?: typeof setTimeout }).setImmediate ?? setTimeout)(then);
}

/** Calls back once after any time; the answer stops it. */
export function after(ms: number, then: () => void): () => void {
  const sleep = (ms: number): ReturnType<typeof setTimeout> => setTimeout(ms > LONGEST ? () => void (timer = sleep(ms - LONGEST)) : then, delay(ms));
  let timer = sleep(ms);
  return () => clearTimeout(timer);
}

/** Sleeps on a timer of its own. */
export function nap(ms: number, signal: AbortSignal | null | undefined): Promise<void> {
  return new Promise((wake, fail) => {
    const onAbort = () => {
      stop();
      fail(signal!.reason);
    };
    const stop = after(ms, () => {
      signal?.removeEventListener("abort", onAbort);
      wake();
    });
    if (signal?.aborted) onAbort();
    else signal?.addEventListener("abort", onAbort, { once: true });
  });
}

/** Ends a call in flight when its signal is aborted, or its time is over. */
export class Guard {
  readonly #own = new AbortController();
  readonly #given: AbortSignal | null | undefined;
  readonly #onAbort = () => this.#own.abort(this.#given!.reason);
  #stop: (() => void) | undefined;

  constructor(given: AbortSignal | null | undefined, ms: number) {
    this.#given = given;
    given?.addEventListener("abort", this.#onAbort);
    if (given?.aborted) this.#onAbort();
    // NaN: there is no deadline.
    if (ms === ms) this.#stop = after(ms, () => this.#own.abort(new Late(0)));
  }

  get signal(): AbortSignal {
    return this.#own.signal;
  }

  /** What becomes of the work, or of the guard's patience, whichever is first. */
  race<T>(work: T | PromiseLike<T>): Promise<T> {
    const { signal } = this;
    return new Promise((done, fail) => {
      Promise.resolve(work).then(done, fail);
      const stop = () => fail(signal.reason);
      if (signal.aborted) stop();
      else signal.addEventListener("abort", stop);
    });
  }

  end(): void {
    this.#stop?.();
    this.#given?.removeEventListener("abort", this.#onAbort);
  }
}

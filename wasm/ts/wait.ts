/** Timers and signals: waiting that can be given up. */

import { DeadlineExceeded } from "./errors.js";

/** What a gate sleeps on: `globalThis`, or a test's clock. */
export interface Timers {
  setTimeout(then: () => void, ms: number): unknown;
  clearTimeout(timer: any): void;
}

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

/** Calls back once after any time; returns what stops it. */
export function after(timers: Timers, ms: number, then: () => void): () => void {
  const sleep = (ms: number): unknown => timers.setTimeout(ms > LONGEST ? () => void (timer = sleep(ms - LONGEST)) : then, delay(ms));
  let timer = sleep(ms);
  return () => timers.clearTimeout(timer);
}

/** Who listens to a signal: each signal has one listener of ours, since Node warns of the eleventh. */
const heard = new WeakMap<AbortSignal, Set<() => void>>();

/** Calls back when a signal is aborted; returns what ends that. */
export function listen(signal: AbortSignal, then: () => void): () => void {
  let all = heard.get(signal);
  if (!all) {
    heard.set(signal, (all = new Set()));
    signal.addEventListener("abort", onAbort);
  }
  // Twice the same function would be once.
  const one = () => then();
  all.add(one);
  return () => {
    if (!all.delete(one) || all.size) return;
    heard.delete(signal);
    signal.removeEventListener("abort", onAbort);
  };
}

function onAbort(this: AbortSignal): void {
  for (const then of heard.get(this) ?? []) then();
}

/** Sleeps on a timer of its own. */
export function nap(timers: Timers, ms: number, signal: AbortSignal | null | undefined): Promise<void> {
  return new Promise((wake, fail) => {
    if (signal?.aborted) return fail(signal.reason);
    const unlink = signal && listen(signal, () => {
      stop();
      unlink!();
      fail(signal.reason);
    });
    const stop = after(timers, ms, () => {
      unlink?.();
      wake();
    });
  });
}

/** What becomes of the work, or the reason of a signal that is aborted first. */
export function race<T>(work: T | PromiseLike<T>, signal: AbortSignal): Promise<T> {
  return new Promise((done, fail) => {
    if (signal.aborted) fail(signal.reason);
    const unlink = listen(signal, () => fail(signal.reason));
    Promise.resolve(work).then(done, fail).finally(unlink);
  });
}

/** One signal of several, and of a deadline. */
export class Guard {
  readonly #own = new AbortController();
  readonly #stops: (() => void)[] = [];

  constructor(given: AbortSignal[]) {
    for (const signal of given) {
      const abort = () => this.#own.abort(signal.reason);
      if (signal.aborted) abort();
      else this.#stops.push(listen(signal, abort));
    }
  }

  get signal(): AbortSignal {
    return this.#own.signal;
  }

  /** Aborts after a time. */
  arm(timers: Timers, ms: number): void {
    this.#stops.push(after(timers, ms, () => this.#own.abort(new DeadlineExceeded(0))));
  }

  /** Hears nothing any more. */
  end(): void {
    for (const stop of this.#stops.splice(0)) stop();
  }
}

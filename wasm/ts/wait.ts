/** Timers and signals: waits that can be cancelled. */

/** The timers of a gate: `globalThis`, or a test's clock. */
export interface Timers {
  setTimeout(then: () => void, ms: number): unknown;
  clearTimeout(timer: any): void;
}

/** Frees what belongs to an object that the program has dropped. Some runtimes have no such class. */
export const dropped = globalThis.FinalizationRegistry && new FinalizationRegistry<() => void>((free) => free());

/** The longest delay that a timer takes, 24.8 days; longer ones fire at once. */
const LONGEST = 0x7fffffff;

/** Timers count whole milliseconds, and waking early would mean sleeping again. */
export function delay(ms: number): number {
  return Math.min(Math.max(Math.ceil(ms), 0), LONGEST);
}

/** Calls back in the next turn of the event loop. (A Node timer may fire repeatedly in one turn, and pages have no `setImmediate`.) */
export function turn(then: () => void): void {
  (globalThis.setImmediate ?? setTimeout)(then);
}

/** Calls back once, after any time; returns a function that cancels it. */
export function after(timers: Timers, ms: number, then: () => void): () => void {
  const sleep = (ms: number): unknown => timers.setTimeout(ms > LONGEST ? () => void (timer = sleep(ms - LONGEST)) : then, delay(ms));
  let timer = sleep(ms);
  return () => timers.clearTimeout(timer);
}

/** The listeners of each signal. Each signal gets only one of ours, because Node warns at the eleventh. */
const heard = new WeakMap<AbortSignal, Set<() => void>>();

/** Calls back when a signal is aborted; returns a function that stops listening. */
export function listen(signal: AbortSignal, then: () => void): () => void {
  let all = heard.get(signal);
  if (!all) {
    heard.set(signal, (all = new Set()));
    signal.addEventListener("abort", onAbort);
  }
  // Each listener is a distinct function, so that none is registered twice.
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

/** Sleeps on its own timer. */
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

/** Settles like the work, or rejects with the signal's reason if that is aborted first. */
export function race<T>(work: T | PromiseLike<T>, signal: AbortSignal): Promise<T> {
  return new Promise((done, fail) => {
    if (signal.aborted) fail(signal.reason);
    const unlink = listen(signal, () => fail(signal.reason));
    Promise.resolve(work).then(done, fail).finally(unlink);
  });
}

/** Combines several signals and a deadline into one signal. */
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

  /** Aborts after a time; returns a function that cancels this. */
  arm(timers: Timers, ms: number, reason: () => Error): () => void {
    const stop = after(timers, ms, () => this.#own.abort(reason()));
    this.#stops.push(stop);
    return stop;
  }

  /** Stops listening. */
  end(): void {
    for (const stop of this.#stops.splice(0)) stop();
  }
}

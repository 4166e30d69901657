/**
 * Timers that are on time in a hidden tab too.
 *
 * A browser lets the timers of a hidden page fire once a second or once a minute, and those of a worker when they are due.
 * So while the page is hidden, a worker wakes it. Where a page may have none, its own timers are what there is.
 */

import type { Timers } from "../wait.js";

/** It is told a number and how long to wait, and tells the number then. */
const WORKER = "onmessage = ({ data: [timer, ms] }) => setTimeout(() => postMessage(timer), ms);";

let worker: Worker | undefined;
let count = 0;
const waiting = new Map<number, { readonly then: () => void; readonly own: ReturnType<typeof setTimeout> }>();

/** See the module. */
export const timers: Timers = {
  setTimeout(then, ms) {
    const timer = ++count;
    waiting.set(timer, { then, own: setTimeout(() => fire(timer), ms) });
    if (globalThis.document?.hidden) wake(timer, ms);
    return timer;
  },
  clearTimeout(timer: number) {
    clearTimeout(waiting.get(timer)?.own);
    waiting.delete(timer);
  },
};

/** Whichever is first: the page's timer, or the worker's. */
function fire(timer: number): void {
  const then = waiting.get(timer)?.then;
  timers.clearTimeout(timer);
  then?.();
}

function wake(timer: number, ms: number): void {
  try {
    if (!worker) {
      const url = URL.createObjectURL(new Blob([WORKER], { type: "text/javascript" }));
      worker = new Worker(url);
      worker.onmessage = ({ data }) => fire(data);
      // A policy that forbids it says so here, and else in the console.
      worker.onerror = (event) => event.preventDefault();
    }
    worker.postMessage([timer, ms]);
  } catch {
    // There is the page's own.
  }
}

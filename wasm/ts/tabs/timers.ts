/**
 * Timers that fire on time even in a hidden tab.
 *
 * Browsers delay the timers of a hidden page to once a second or a minute, but not those of
 * workers. So a worker wakes a hidden page. If the page may not start one, only its own timers
 * remain.
 */

import type { Timers } from "../wait.js";

/** Receives a number and a delay, and sends the number back after the delay. */
const WORKER = "onmessage = ({ data: [timer, ms] }) => setTimeout(() => postMessage(timer), ms);";

let worker: Worker | undefined;
let count = 0;
const waiting = new Map<number, { readonly then: () => void; readonly own: ReturnType<typeof setTimeout> }>();

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

/** Runs on whichever comes first: the page's timer or the worker's. */
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
      // A content security policy that forbids the worker is reported here, and otherwise in the console.
      worker.onerror = (event) => event.preventDefault();
    }
    worker.postMessage([timer, ms]);
  } catch {
    // The page's own timers remain.
  }
}

/** Metrics of a gate, for OpenTelemetry or any meter with the same methods. */

import type { Gate } from "./options.js";

interface Instrument {
  add(value: number, attributes?: Record<string, string>): void;
}

/** The methods of a meter of `@opentelemetry/api` that are used. */
export interface Meter {
  createCounter(name: string, options?: { description?: string; unit?: string }): Instrument;
  createHistogram(name: string, options?: { description?: string; unit?: string }): { record(value: number, attributes?: Record<string, string>): void };
}

/**
 * Records the events of a gate. Returns a function that stops recording. The attribute `tidegate.key` is the call's key.
 *
 * - `tidegate.attempts`: attempts, by `tidegate.outcome`
 * - `tidegate.attempt.duration`: seconds from sending to the response's headers
 * - `tidegate.waits`: waits, by `tidegate.cause`
 * - `tidegate.wait.duration`: seconds in the queue
 * - `tidegate.retries`: retries
 * - `tidegate.gave_up`: failed calls that are not retried, by `tidegate.reason`
 */
export function observe(gate: Pick<Gate, "on">, meter: Meter): () => void {
  const attempts = meter.createCounter("tidegate.attempts", { description: "Attempts, by their outcome" });
  const durations = meter.createHistogram("tidegate.attempt.duration", { description: "Time from sending to the headers", unit: "s" });
  const waits = meter.createCounter("tidegate.waits", { description: "Waits, by their cause" });
  const queued = meter.createHistogram("tidegate.wait.duration", { description: "Time in the queue", unit: "s" });
  const retries = meter.createCounter("tidegate.retries", { description: "Further attempts" });
  const gaveUp = meter.createCounter("tidegate.gave_up", { description: "Failed calls that are not retried" });
  const of = (key: string, more?: Record<string, string>) => ({ "tidegate.key": key, ...more });
  const ends = [
    gate.on("settled", ({ key, outcome, ms }) => {
      attempts.add(1, of(key, { "tidegate.outcome": outcome }));
      durations.record(ms / 1_000, of(key));
    }),
    gate.on("wait", ({ key, cause }) => waits.add(1, of(key, { "tidegate.cause": cause }))),
    gate.on("sent", ({ key, waited }) => queued.record(waited / 1_000, of(key))),
    gate.on("retry", ({ key }) => retries.add(1, of(key))),
    gate.on("gaveUp", ({ key, why }) => gaveUp.add(1, of(key, { "tidegate.reason": why }))),
  ];
  return () => ends.forEach((end) => end());
}

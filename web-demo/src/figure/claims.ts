/** The captions: sentences chosen by the numbers of this run, with those numbers in them. */

import { number, percent } from "../plot/number";
import type { Metrics } from "./stage";

/** Shares that differ by less count as the same. */
const SAME = 0.02;

export const calls = (count: number) => `${number(count, 9)} ${count === 1 ? "call" : "calls"}`;

export const wasted = (metrics: Metrics): number => metrics.throttles ?? 0;

/** Compares a law with the same clients without a gate: calls wasted, and share of the limit used, so far or in all. */
export function compare(name: string, gate: Metrics, none: Metrics, over: boolean): string {
  const all = `${waste(name, wasted(gate), wasted(none))} ${use(name, gate.util ?? 0, none.util ?? 0)}`;
  return over ? all : `So far, ${all[0]!.toLowerCase()}${all.slice(1)}`;
}

function waste(name: string, gate: number, none: number): string {
  if (gate + none === 0) return "No call was throttled: with these settings, no gate is needed.";
  if (gate > none) return `With ${name}, ${calls(gate)} were wasted, without a gate ${number(none, 9)}: here it loses.`;
  if (gate === none) return `With ${name} and without a gate, ${calls(gate)} were wasted: here it saves nothing.`;
  const times = gate > 0 && none >= 2 * gate ? `: ${number(none / gate, 2)} times fewer` : "";
  return `Without a gate, ${calls(none)} were wasted, with ${name} ${number(gate, 9)}${times}.`;
}

function use(name: string, gate: number, none: number): string {
  const [own, other] = [percent(gate), percent(none)];
  if (gate < none - SAME) return `But with ${name} only ${own} of the limit was used, without a gate ${other}: here it loses throughput.`;
  if (gate > none + SAME) return `With ${name}, ${own} of the limit was used, without a gate only ${other}.`;
  return `Both used about the same share of the limit (${own} and ${other}).`;
}

/** Formats numbers for the page. */

/**
 * A number with this many significant digits, or its whole part if longer, grouped from 10 000 on;
 * `–` without a value.
 */
export function number(value: number | null | undefined, digits = 3): string {
  if (value == null || !Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.floor(Math.log10(Math.abs(value)));
  const [whole = "", ...rest] = String(Number(value.toFixed(Math.max(0, Math.min(12, digits - 1 - size))))).split(".");
  return [grouped(whole), ...rest].join(".");
}

/** The digits of a whole number, grouped from 10 000 on. */
export const grouped = (whole: string | number): string =>
  String(whole).length > 4 ? String(whole).replace(/\B(?=(\d{3})+$)/g, "\u202f") : String(whole);

export const calls = (count: number): string => `${number(count, 9)} ${count === 1 ? "call" : "calls"}`;

export const percent = (share: number | null | undefined): string =>
  share == null || !Number.isFinite(share) ? "–" : `${number(share * 100)} %`;

const UNITS: [number, string][] = [[3600, "h"], [60, "min"], [1, "s"], [1e-3, "ms"], [1e-6, "µs"]];

/** A time in the largest unit in which it is at least one; whole hours and minutes in theirs. */
export function seconds(value: number | null | undefined): string {
  if (value == null || !Number.isFinite(value)) return "–";
  if (value === 0) return "0 s";
  const abs = Math.abs(value);
  const [size, unit] = UNITS.find(([size]) => abs >= size && (size <= 1 || abs % size === 0)) ?? [1e-9, "ns"];
  return `${number(value / size)} ${unit}`;
}

/** Rounds up to one of these multiples of a power of ten. */
export function round(value: number, steps: number[]): number {
  const size = 10 ** Math.floor(Math.log10(value));
  return steps.find((step) => step * size >= value)! * size;
}

/** A time as minutes and seconds. */
export function clock(value: number): string {
  if (value < 100) return `${value.toFixed(1)} s`;
  const [h, m, s] = [Math.floor(value / 3600), Math.floor(value / 60) % 60, Math.floor(value % 60)];
  const two = (n: number) => String(n).padStart(2, "0");
  return h > 0 ? `${h}:${two(m)}:${two(s)} h` : `${m}:${two(s)} min`;
}

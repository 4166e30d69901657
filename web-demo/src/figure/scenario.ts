/** Builds scenario files, as tools/sim/scenarios describes them, from numbers of the page. */

/** Seconds, written exactly. */
export function time(seconds: number): string {
  const nanos = Math.round(seconds * 1e9);
  const [size, unit] = ([[1e9, "s"], [1e6, "ms"], [1e3, "us"], [1, "ns"]] as const).find(([size]) => nanos % size === 0)!;
  return `"${nanos / size}${unit}"`;
}

/** Calls a second, to a millionth. */
export const rate = (perSecond: number): string => `"${Number(perSecond.toFixed(6))}/s"`;

/** A file: the world's own keys, then its tables in order. Empty entries are left out. */
export function file(world: Record<string, string | number | boolean>, ...tables: string[]): string {
  const own = Object.entries(world).map(([key, value]) => `${key} = ${value}`);
  return [...own, ...tables.filter(Boolean)].join("\n");
}

/** A table and its keys. Undefined values are left out. */
export function table(name: string, keys: Record<string, string | number | boolean | undefined>): string {
  const lines = Object.entries(keys).flatMap(([key, value]) => (value === undefined ? [] : `${key} = ${value}`));
  return `\n[${name}]\n${lines.join("\n")}`;
}

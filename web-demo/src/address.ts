/** The query of the address. Each part of the page has its own keys. */

/** Characters that a query allows stay readable in an address. */
export const escaped = (text: string) => encodeURIComponent(text).replace(/%(?:2C|2F|3A|3B|40)/g, decodeURIComponent);

/** The address's value for a key; empty without one. */
export const said = (key: string): string => new URLSearchParams(location.search).get(key) ?? "";

/** The address with these values in place of all keys of the caller. */
export function address(isOwn: (key: string) => boolean, own: [string, string][], hash: string): string {
  const others = [...new URLSearchParams(location.search)].filter(([key]) => !isOwn(key));
  const query = [...own, ...others].map(([key, value]) => `${key}=${escaped(value)}`).join("&");
  return `${location.origin}${location.pathname}${query && `?${query}`}#${hash}`;
}

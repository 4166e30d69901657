/** The query of the address, in which each part of the page has its own keys. */

/** What a query leaves as it is stands in an address as it is, so that people can read it. */
export const escaped = (text: string) => encodeURIComponent(text).replace(/%(?:2C|2F|3A|3B|40)/g, decodeURIComponent);

/** What the address says of a key; nothing where it says nothing. */
export const said = (key: string): string => new URLSearchParams(location.search).get(key) ?? "";

/** The address with these values in the place of all keys that are the caller's. */
export function address(isOwn: (key: string) => boolean, own: [string, string][], hash: string): string {
  const others = [...new URLSearchParams(location.search)].filter(([key]) => !isOwn(key));
  const query = [...own, ...others].map(([key, value]) => `${key}=${escaped(value)}`).join("&");
  return `${location.origin}${location.pathname}${query && `?${query}`}#${hash}`;
}

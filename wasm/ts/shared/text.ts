/** Encodes bytes as text that every store and carrier of text keeps intact. */
export function text(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}

/** The inverse of `text`. */
export function bytes(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
}

/** Encodes text in UTF-8, which replaces lone surrogates. */
export const encoded = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);

/** The inverse of `encoded`. A U+FEFF at the start is kept, as in Rust. */
export const decoded = (bytes: Uint8Array<ArrayBuffer>): string => new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);

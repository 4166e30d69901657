/** Encodes bytes as text that every store and carrier of text keeps intact. */
export function text(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}

/** The inverse of `text`. */
export function bytes(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
}

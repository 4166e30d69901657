/** Bytes as text, which everything that keeps or carries text takes as it is. */
export function text(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}

/** The inverse of `text`. */
export function bytes(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
}

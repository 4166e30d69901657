/** A clock that never steps back: if its source does, it continues from where it was. */

export function steady(now: () => number): () => number {
  let latest = -Infinity;
  let ahead = 0;
  return () => {
    const told = now() + ahead;
    if (told < latest) ahead += latest - told;
    // Ignores NaN.
    else if (told >= latest) latest = told;
    return latest;
  };
}

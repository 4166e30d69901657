/** A clock that never steps back: where the one that it is told does, it goes on from where it was. */

/** See the module. */
export function steady(now: () => number): () => number {
  let latest = -Infinity;
  let ahead = 0;
  return () => {
    const told = now() + ahead;
    if (told < latest) ahead += latest - told;
    // What is no number changes nothing.
    else if (told >= latest) latest = told;
    return latest;
  };
}

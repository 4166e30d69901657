/** Opens several worlds: all of them, or none. */

/** Resolves when all worlds are open. If one is rejected, closes the others and throws the first rejection. */
export async function together<W extends { close(): void }>(opening: Promise<W>[]): Promise<W[]> {
  const settled = await Promise.allSettled(opening);
  const rejected = settled.find((each) => each.status === "rejected");
  const opened = settled.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  if (!rejected) return opened;
  for (const world of opened) world.close();
  throw rejected.reason;
}

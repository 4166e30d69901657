/** Worlds side by side: all of them, or none. */

/** What has opened, once all has. Where one is rejected the others are closed again, and the first rejection is thrown. */
export async function together<W extends { close(): void }>(opening: Promise<W>[]): Promise<W[]> {
  const settled = await Promise.allSettled(opening);
  const rejected = settled.find((each) => each.status === "rejected");
  const opened = settled.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  if (!rejected) return opened;
  for (const world of opened) world.close();
  throw rejected.reason;
}

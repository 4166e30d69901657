/** Worlds side by side: all of them, or none. */

/** What has opened, once all has. Where one is refused the others are closed again, and the first refusal is thrown. */
export async function together<W extends { close(): void }>(opening: Promise<W>[]): Promise<W[]> {
  const settled = await Promise.allSettled(opening);
  const refused = settled.find((each) => each.status === "rejected");
  const opened = settled.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  if (!refused) return opened;
  for (const world of opened) world.close();
  throw refused.reason;
}

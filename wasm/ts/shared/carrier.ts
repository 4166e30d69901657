/**
 * One budget for many processes, and the seam in it: everything here works with whatever holds the
 * budget, and knows of it only what this file says.
 *
 * - On the side of those that call, `sharer` (client.ts) makes a gate that asks a coordinator. It
 *   needs a {@link Carrier}, which it hands the bytes of a request.
 * - Where the budget is, a `Desk` (desk.ts) makes of those bytes the grant's. Whoever runs one sees
 *   that requests reach it one at a time, keeps its `snapshot()` every ten seconds or so while there
 *   are requests, and goes on from that when it had to move. What cannot be kept stops nothing.
 *
 * What is in the bytes, and what happens when they are late, doubled or lost, is the core's: see
 * `core/docs/shared.md`. Nothing here counts, retries or gives up.
 */

/**
 * Carries a request to the coordinator of a key, and brings back its grant. It may fail, come to
 * nothing (`undefined`, or no bytes), or never end: then the calls go on without.
 */
export type Carrier = (key: string, request: Uint8Array<ArrayBuffer>) => Promise<Uint8Array | undefined>;

/** Keeps the process alive until this has ended, where that takes a word: an edge worker's `waitUntil`. */
export type Keep = (until: Promise<unknown>) => void;

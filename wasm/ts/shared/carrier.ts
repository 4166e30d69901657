/**
 * One budget for many processes: the interface between this package and the carrier of its
 * messages.
 *
 * - On the callers' side, `sharer` (client.ts) creates a gate that asks a coordinator. It needs a
 *   {@link Carrier} for the bytes of its requests.
 * - On the coordinator's side, a `Desk` (desk.ts) turns those bytes into a grant. Its owner passes
 *   it one request at a time, stores its `snapshot()` about every ten seconds while there are
 *   requests, and continues from the last one after a move. Failing to store stops nothing.
 *
 * The core decides what the bytes contain and handles late, doubled and lost messages: see
 * `core/docs/shared.md`. Nothing here counts, retries or gives up.
 */

/**
 * Carries a request to the coordinator of a key, and resolves to its grant. It may fail, resolve to
 * `undefined` or no bytes, or never settle: calls continue without it. `tell` reports what is wrong beside the answer.
 */
export type Carrier = (key: string, request: Uint8Array<ArrayBuffer>, tell: (why: unknown) => void) => Promise<Uint8Array | undefined>;

/** Whether a request is a member's last one, for now. */
export const leaves = (request: Uint8Array): boolean => request[2] === 1;

/** Keeps the process alive until this settles, as an edge worker's `waitUntil` does. */
export type Keep = (until: Promise<unknown>) => void;

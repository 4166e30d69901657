/** The requests of a carrier that wait for their answers, by number. */

interface Waiting<Request> {
  readonly request: Request;
  readonly at: number;
  readonly done: (grant: Uint8Array | undefined) => void;
  readonly fail: (why: unknown) => void;
}

/** A member ignores an answer that arrives later than this many milliseconds after its request. */
const LATE = 2_000;

export class Asked<Request = void> extends Map<number, Waiting<Request>> {
  #count = 0;

  /** Numbers a request, and returns its answer. Requests that are too old end without one. */
  ask(request: Request): { id: number; answer: Promise<Uint8Array | undefined> } {
    const at = performance.now();
    for (const [old, waiting] of this) {
      if (at - waiting.at <= LATE) break;
      this.take(old)?.done(undefined);
    }
    const id = (this.#count = (this.#count + 1) >>> 0 || 1);
    const answer = new Promise<Uint8Array | undefined>((done, fail) => this.set(id, { request, at, done, fail }));
    // It may fail after its caller has stopped waiting.
    answer.catch(() => {});
    return { id, answer };
  }

  /** The request with this number, which then does not wait any more. */
  take(id: number): Waiting<Request> | undefined {
    const waiting = this.get(id);
    this.delete(id);
    return waiting;
  }

  takeAll(): Waiting<Request>[] {
    const all = [...this.values()];
    this.clear();
    return all;
  }
}

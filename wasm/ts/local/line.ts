/** A connection to the process that holds the budgets. */

import * as net from "node:net";
import { TidegateError } from "../errors.js";
import type { Told } from "../shared/standing.js";
import { Frames, GREETING, NO_REQUEST, POLICY, policy, request, told, TROUBLE } from "./frames.js";

/**
 * A process that does not answer for this many milliseconds counts as frozen, unless this one was busy itself: its timer
 * was later than the second value.
 */
const PATIENCE = 400;
const LATE = 20;

/** Why a connection ended before the answer: `silent` if the process is alive and does not answer. */
export class Ended extends Error {
  constructor(readonly isSilent: boolean) {
    super("the process that holds the budget has ended, or does not answer");
  }
}

interface Asked {
  readonly done: (grant: Uint8Array | undefined) => void;
  readonly fail: (why: unknown) => void;
  timer: ReturnType<typeof setTimeout> | undefined;
}

export class Line {
  readonly #socket: net.Socket;
  /** The inode of the socket to which this is connected. */
  readonly to: bigint | undefined;
  readonly #asked = new Map<number, Asked>();
  #count = 0;
  /** The policy of that process. */
  policy: Told | undefined;
  /** Why it has ended. */
  #why: unknown;

  /** Rejects with the system's error if no process listens. */
  static async open(path: string, to: bigint | undefined): Promise<Line> {
    const socket = net.connect(path);
    await new Promise<void>((done, fail) => socket.on("connect", done).on("error", fail));
    return new Line(socket, to);
  }

  private constructor(socket: net.Socket, to: bigint | undefined) {
    this.#socket = socket;
    this.to = to;
    const frames = new Frames(false);
    socket.unref();
    socket.on("data", (bytes) => {
      try {
        for (const { id, kind, body } of frames.read(bytes)) this.#take(id, kind, body);
      } catch (error) {
        this.end(error);
      }
    });
    socket.on("error", () => this.end(new Ended(false)));
    socket.on("close", () => this.end(new Ended(false)));
    socket.write(GREETING);
  }

  get isOpen(): boolean {
    return this.#why === undefined;
  }

  /** The number of requests without an answer. */
  get asking(): number {
    return this.#asked.size;
  }

  /** Asks that process to leave the seat to one with this policy. If it does, it ends the connection. */
  replace(by: Told): void {
    this.#socket.write(request(NO_REQUEST, "", policy(by)));
  }

  /** Sends a request and resolves to the grant. */
  ask(key: string, body: Uint8Array): Promise<Uint8Array | undefined> {
    if (!this.isOpen) return Promise.reject(this.#why);
    const id = (this.#count = (this.#count + 1) >>> 0 || 1);
    const bytes = request(id, key, body);
    this.#socket.ref();
    return new Promise((done, fail) => {
      const asked: Asked = { done, fail, timer: undefined };
      this.#asked.set(id, asked);
      this.#watch(asked);
      this.#socket.write(bytes);
    });
  }

  #watch(asked: Asked, again = false): void {
    const due = performance.now() + PATIENCE;
    asked.timer = setTimeout(() => (!again && performance.now() - due > LATE ? this.#watch(asked, true) : this.end(new Ended(true))), PATIENCE);
  }

  /** Ends the connection; open requests fail with `why`. */
  end(why: unknown): void {
    if (!this.isOpen) return;
    this.#why = why;
    this.#socket.destroy();
    for (const { fail, timer } of this.#asked.values()) {
      clearTimeout(timer);
      fail(why);
    }
    this.#asked.clear();
  }

  #take(id: number, kind: number, body: Uint8Array<ArrayBuffer>): void {
    if (kind === POLICY) this.policy = told(body);
    const asked = this.#asked.get(id);
    if (!asked) return;
    this.#asked.delete(id);
    clearTimeout(asked.timer);
    if (!this.#asked.size) this.#socket.unref();
    if (kind !== TROUBLE) asked.done(body.length ? body : undefined);
    else asked.fail(new TidegateError("MESSAGE", `the process that holds the budget says: ${new TextDecoder().decode(body)}`));
  }
}

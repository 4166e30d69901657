/** A connection to the process that holds the budgets. */

import * as net from "node:net";
import { Closed, TidegateError } from "../errors.js";
import { Asked } from "../shared/asked.js";
import type { Told } from "../shared/standing.js";
import { decoded } from "../shared/text.js";
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

export class Line {
  /** The inode of the socket to which this is connected. */
  readonly to: bigint | undefined;
  readonly #asked = new Asked();
  /** The policy of that process. */
  policy: Told | undefined;
  #why: unknown;

  /** Rejects with the system's error if no process listens. */
  static async open(path: string, to: bigint | undefined): Promise<Line> {
    const socket = net.connect(path);
    await new Promise<void>((done, fail) => socket.on("connect", done).on("error", fail));
    return new Line(socket, to);
  }

  private constructor(private readonly socket: net.Socket, to: bigint | undefined) {
    this.to = to;
    const frames = new Frames(false);
    socket.unref();
    socket.on("data", (bytes) => {
      try {
        for (const { id, kind, body } of frames.read(bytes)) this.#take(id, kind, body);
      } catch (error) {
        this.#end(error);
      }
    });
    socket.on("error", () => this.#end(new Ended(false)));
    socket.on("close", () => this.#end(new Ended(false)));
    socket.write(GREETING);
  }

  get isOpen(): boolean {
    return this.#why === undefined;
  }

  /** Asks that process to leave the seat to one with this policy. If it does, it ends the connection. */
  replace(by: Told): void {
    this.socket.write(request(NO_REQUEST, "", policy(by)));
  }

  /** Sends a request and resolves to the grant. */
  ask(key: string, body: Uint8Array): Promise<Uint8Array | undefined> {
    if (!this.isOpen) return Promise.reject(this.#why);
    const { id, answer } = this.#asked.ask();
    this.socket.ref();
    this.socket.write(request(id, key, body));
    let timer: ReturnType<typeof setTimeout>;
    const watch = (again = false) => {
      const due = performance.now() + PATIENCE;
      timer = setTimeout(() => (!again && performance.now() - due > LATE ? watch(true) : this.#end(new Ended(true))), PATIENCE);
    };
    watch();
    return answer.finally(() => {
      clearTimeout(timer);
      // An ended socket would wait for a connection, with a listener for each request.
      if (this.isOpen && !this.#asked.size) this.socket.unref();
    });
  }

  /** Ends the connection; open requests fail. */
  leave(): void {
    this.#end(new Closed());
  }

  #end(why: unknown): void {
    if (!this.isOpen) return;
    this.#why = why;
    this.socket.destroy();
    for (const { fail } of this.#asked.takeAll()) fail(why);
  }

  #take(id: number, kind: number, body: Uint8Array<ArrayBuffer>): void {
    if (kind === POLICY) this.policy = told(body);
    const asked = this.#asked.take(id);
    if (kind !== TROUBLE) asked?.done(body.length ? body : undefined);
    else asked?.fail(new TidegateError("MESSAGE", `the process that holds the budget says: ${decoded(body)}`));
  }
}

/**
 * The seat: the socket of the process that holds the budgets.
 *
 * An answer is sent while the socket has the seat's path, and not after. So a process that was frozen
 * while another took the seat grants nothing more, however late it finds out.
 */

import * as net from "node:net";
import { TidegateError } from "../errors.js";
import { Budgets, type BudgetOptions, type LocalStats } from "./budgets.js";
import { answer, Frames, GRANT, GREETING, TROUBLE } from "./frames.js";
import type { Place } from "./place.js";

/** A member that does not read so many bytes of answers is not there any more. */
const UNREAD = 1 << 20;

/** See the module. */
export class Seat {
  readonly #place: Place;
  readonly #server: net.Server;
  readonly #number: bigint | undefined;
  readonly #budgets: Budgets;
  readonly #members = new Set<net.Socket>();
  #held = true;

  /**
   * Takes the seat from `found`, the number of a socket whose process does not answer; `undefined` where there is
   * none. Another process may have been faster: then the result is `undefined`.
   */
  static async take(options: BudgetOptions, found: bigint | undefined): Promise<Seat | undefined> {
    const { place } = options;
    const server = net.createServer();
    const aside = place.aside();
    await new Promise<void>((done, fail) => server.on("error", fail).listen(aside, done));
    // A pipe, or a socket that waits for others, keeps no program from its end.
    server.unref();
    try {
      const number = place.take(aside, found);
      if (number !== false) return new Seat(options, server, number, found === undefined);
    } catch (error) {
      server.close();
      throw error;
    }
    server.close();
    return undefined;
  }

  private constructor(options: BudgetOptions, server: net.Server, number: bigint | undefined, isFirst: boolean) {
    this.#place = options.place;
    this.#server = server;
    this.#number = number;
    this.#budgets = new Budgets(options, isFirst);
    server.on("connection", (member) => this.#welcome(member));
    server.on("error", () => this.#end());
  }

  /** Whether it is still this process's. */
  get isHeld(): boolean {
    if (this.#held && this.#place.look() !== this.#number) this.#end();
    return this.#held;
  }

  /** Answers a request: `undefined` where there is nothing to send, or where the seat is another's. */
  answer(key: string, request: Uint8Array): Uint8Array<ArrayBuffer> | undefined {
    const grant = this.#held ? this.#budgets.answer(key, request) : undefined;
    return this.isHeld ? grant : undefined;
  }

  stats(key: string): LocalStats | undefined {
    return this.#budgets.stats(key);
  }

  /** Gives it up: whoever asks next takes it. */
  leave(): void {
    // Without its file a budget is begun behind what was granted, which the socket tells.
    if (this.#held && this.#budgets.isKept) this.#place.leave(this.#number);
    this.#end();
  }

  #welcome(member: net.Socket): void {
    const frames = new Frames(true);
    this.#members.add(member);
    member.unref();
    member.on("close", () => this.#members.delete(member));
    member.on("error", () => member.destroy());
    member.on("data", (bytes) => {
      try {
        for (const { id, key, body } of frames.read(bytes)) this.#serve(member, id, key, body);
      } catch {
        // Whatever it is, it has been greeted, and knows what this process speaks.
        member.destroy();
      }
      if (member.writableLength > UNREAD) member.destroy();
    });
    member.write(GREETING);
  }

  #serve(member: net.Socket, id: number, key: string, request: Uint8Array): void {
    try {
      const grant = this.answer(key, request);
      if (this.#held) member.write(answer(id, GRANT, grant ?? new Uint8Array()));
    } catch (error) {
      const why = error instanceof TidegateError ? error.message : String(error);
      member.write(answer(id, TROUBLE, new TextEncoder().encode(why)));
    }
  }

  #end(): void {
    if (!this.#held) return;
    this.#held = false;
    this.#server.close();
    for (const member of this.#members) member.destroy();
    this.#budgets.close();
  }
}

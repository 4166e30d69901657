/**
 * The seat: the socket of the process that holds the budgets.
 *
 * Answers are sent only while the socket is at the seat's path. So a process that was frozen while
 * another took the seat grants nothing more, no matter when it notices.
 */

import * as net from "node:net";
import { TidegateError } from "../errors.js";
import type { Budgets } from "../shared/budgets.js";
import { leaves } from "../shared/carrier.js";
import type { Standing, Told } from "../shared/standing.js";
import { encoded } from "../shared/text.js";
import { Files } from "./files.js";
import { answer, Frames, GRANT, GREETING, NO_REQUEST, POLICY, policy, told, TROUBLE } from "./frames.js";
import { Ended } from "./line.js";
import type { Place } from "./place.js";

/** A member that leaves this many bytes of answers unread counts as gone. */
const UNREAD = 1 << 20;

export class Seat {
  readonly policy: Told;
  readonly #members = new Set<net.Socket>();
  #held = true;
  /** Whether this process has freed it, and not lost it. */
  hasLeft = false;

  /**
   * Takes the seat from `found`, the inode of a socket whose process does not answer, or
   * `undefined` if there is none. `isFirst`: whether there was no holder before. Returns `undefined` if another process was
   * faster.
   */
  static async take(place: Place, budgets: Budgets, standing: Standing, found: bigint | undefined, isFirst: boolean): Promise<Seat | undefined> {
    const server = net.createServer();
    const aside = place.aside();
    await new Promise<void>((done, fail) => server.on("error", fail).listen(aside, done));
    // The socket must not keep the program alive.
    server.unref();
    try {
      const number = place.take(aside, found);
      if (number !== false) return new Seat(place, budgets, standing, server, number, isFirst);
    } catch (error) {
      server.close();
      throw error;
    }
    server.close();
    return undefined;
  }

  private constructor(
    private readonly place: Place,
    private readonly budgets: Budgets,
    private readonly standing: Standing,
    private readonly server: net.Server,
    private readonly number: bigint | undefined,
    isFirst: boolean,
  ) {
    budgets.begin(new Files(place, isFirst));
    this.policy = standing.claim();
    standing.hold(this.policy);
    server.on("connection", (member) => this.#welcome(member));
    server.on("error", () => this.#end());
  }

  /** Whether this process still has it. */
  get isOpen(): boolean {
    if (this.#held && this.place.look() !== this.number) this.#end();
    return this.#held;
  }

  /** Answers a request; `undefined` if there is nothing to send. Throws if the seat is lost. */
  ask(key: string, request: Uint8Array): Uint8Array<ArrayBuffer> | undefined {
    // The record would replace that of the next holder.
    const grant = this.isOpen ? this.budgets.answer(key, request)?.grant : undefined;
    if (!this.isOpen) throw new Ended(false);
    return grant;
  }

  /** Frees the seat; the next process that asks takes it. */
  leave(): void {
    // Without a file, the next holder must assume unknown grants. The socket that stays behind tells it so.
    if (this.#held && this.budgets.isKept) this.place.leave(this.number);
    this.hasLeft ||= this.#held;
    this.#end();
  }

  #welcome(member: net.Socket): void {
    const frames = new Frames(true);
    /** By key that the member has not left: the latest request. */
    const asked = new Map<string, Uint8Array>();
    this.#members.add(member);
    member.unref();
    member.on("close", () => {
      this.#members.delete(member);
      // After the seat is lost, they may be members of the next holder.
      if (this.#held) for (const [key, request] of asked) this.budgets.ended(key, request);
    });
    member.on("error", () => member.destroy());
    member.on("data", (bytes) => {
      try {
        for (const { id, key, body } of frames.read(bytes)) {
          if (id === NO_REQUEST) {
            if (this.isOpen && this.standing.yields(told(body))) this.leave();
            continue;
          }
          if (!this.#serve(member, id, key, body)) continue;
          if (leaves(body)) asked.delete(key);
          else asked.set(key, body);
        }
      } catch {
        // The greeting has already stated the protocol of this process.
        member.destroy();
      }
      if (member.writableLength > UNREAD) member.destroy();
    });
    member.write(GREETING);
    member.write(answer(NO_REQUEST, POLICY, policy(this.policy)));
  }

  /** Answers a request. Returns whether it was valid. */
  #serve(member: net.Socket, id: number, key: string, request: Uint8Array): boolean {
    try {
      const grant = this.ask(key, request);
      member.write(answer(id, GRANT, grant ?? new Uint8Array()));
      return true;
    } catch (error) {
      if (!this.#held) return false;
      const why = error instanceof TidegateError ? error.message : String(error);
      member.write(answer(id, TROUBLE, encoded(why)));
      return false;
    }
  }

  #end(): void {
    if (!this.#held) return;
    this.#held = false;
    this.server.close();
    for (const member of this.#members) member.destroy();
    this.budgets.end();
  }
}

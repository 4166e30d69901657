/**
 * The record of a budget, in a file beside the socket.
 *
 * It is written before each grant is sent, so that the next holder continues from all grants. Each
 * holder has its own file under that name: no process reads what a former holder still writes.
 */

import * as fs from "node:fs";
import process from "node:process";
import { join, type Place } from "./place.js";

/** The start of a file: a name and the version of the format. */
const BEGIN = new Uint8Array([...new TextEncoder().encode("tidegate"), 1]);

/** The header: that, the time of writing in milliseconds since 1970, and the lengths of the key and the record. */
const HEAD = 9 + 8 + 2 + 2;

/** The content of a file. */
export interface Past {
  readonly record: Uint8Array;
  /** Milliseconds since it was written. */
  readonly away: number;
}

export class RecordFile {
  readonly #path: string;
  readonly #key: Uint8Array;
  #file: number | undefined;

  constructor(place: Place, key: string) {
    this.#key = new TextEncoder().encode(key);
    this.#path = join(place.folder, `${place.name}-${digest(this.#key)}.budget`);
  }

  /** Reads the previous holder's record; `undefined` if there is none that can be read. */
  read(): Past | undefined {
    try {
      const bytes = fs.readFileSync(this.#path);
      const head = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
      const [key, record] = [head.getUint16(17, true), head.getUint16(19, true)];
      const named = HEAD + key;
      const isOurs = has(bytes, 0, BEGIN) && key === this.#key.length && has(bytes, HEAD, this.#key);
      if (!isOurs || bytes.length < named + record) return undefined;
      return { record: bytes.slice(named, named + record), away: Math.max(Date.now() - Number(head.getBigUint64(9, true)), 0) };
    } catch {
      return undefined;
    }
  }

  /** Writes a desk's record. If that fails, throws and removes the previous record. */
  write(record: Uint8Array): void {
    try {
      const head = this.#head();
      new DataView(head.buffer).setUint16(19, record.length, true);
      const bytes = new Uint8Array([...head, ...this.#key, ...record]);
      if (this.#file === undefined) this.#file = this.#made(bytes);
      else this.#put(this.#file, bytes);
    } catch (error) {
      this.close();
      fs.rmSync(this.#path, { force: true });
      throw error;
    }
  }

  close(): void {
    if (this.#file !== undefined) fs.closeSync(this.#file);
    this.#file = undefined;
  }

  #head(): Uint8Array<ArrayBuffer> {
    const bytes = new Uint8Array(HEAD);
    const head = new DataView(bytes.buffer);
    bytes.set(BEGIN);
    head.setBigUint64(9, BigInt(Math.max(Math.floor(Date.now()), 0)), true);
    head.setUint16(17, this.#key.length, true);
    return bytes;
  }

  /** Creates a new file in place of the previous one. */
  #made(bytes: Uint8Array): number {
    const aside = `${this.#path}.${process.pid}.new`;
    const file = fs.openSync(aside, "w", 0o600);
    try {
      this.#put(file, bytes);
      fs.renameSync(aside, this.#path);
    } catch (error) {
      fs.closeSync(file);
      fs.rmSync(aside, { force: true });
      throw error;
    }
    return file;
  }

  #put(file: number, bytes: Uint8Array): void {
    if (fs.writeSync(file, bytes, 0, bytes.length, 0) < bytes.length) throw new Error("the record was written only in part");
  }
}

/** Whether these bytes are at this position. */
function has(bytes: Uint8Array, at: number, part: Uint8Array): boolean {
  return part.every((byte, i) => bytes[at + i] === byte);
}

/** FNV-1a with 64 bits, as 16 digits. If two keys collide, the key in the file tells them apart. */
function digest(bytes: Uint8Array): string {
  let hash = 0xcbf29ce484222325n;
  for (const byte of bytes) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  return hash.toString(16).padStart(16, "0");
}

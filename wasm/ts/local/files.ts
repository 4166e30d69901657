/**
 * The records of budgets, in files beside the socket.
 *
 * A record is written before its grant is sent, so that the next holder continues from all grants. Each
 * holder has its own file under that name: no process reads what a former holder still writes.
 */

import * as fs from "node:fs";
import process from "node:process";
import type { Store } from "../shared/budgets.js";
import type { Past } from "../shared/desk.js";
import { encoded } from "../shared/text.js";
import { join, type Place } from "./place.js";

/** The start of a file: a name and the version of the format. */
const BEGIN = new Uint8Array([...encoded("tidegate"), 1]);

/** The header: that, the time of writing in milliseconds since 1970, and the lengths of the key and the record. */
const HEAD = 9 + 8 + 2 + 2;

export class Files implements Store {
  /** By key: the file that this holder has created. */
  readonly #files = new Map<string, number>();

  /** Until when an earlier holder may have leased calls, even of keys without a file; `undefined` if there was none. */
  readonly #until: number | undefined;

  constructor(private readonly place: Place, isFirst: boolean) {
    this.#until = isFirst ? undefined : performance.now();
  }

  read(key: string): Past | undefined {
    try {
      const bytes = fs.readFileSync(this.#path(key));
      const head = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
      const from = HEAD + head.getUint16(17, true);
      const record = bytes.slice(from, from + head.getUint16(19, true));
      // The digest in the name may be that of another key.
      if (!has(bytes, encode(key, Number(head.getBigUint64(9, true)), record))) throw new TypeError("damaged");
      return { record, away: Math.max(Date.now() - Number(head.getBigUint64(9, true)), 0), ended: true };
    } catch {
      return this.#until === undefined ? undefined : { record: new Uint8Array(), away: performance.now() - this.#until, ended: true };
    }
  }

  /** If this fails, it removes the previous record. */
  write(key: string, record: Uint8Array): void {
    const bytes = encode(key, Math.max(Math.floor(Date.now()), 0), record);
    try {
      const file = this.#files.get(key);
      const path = this.#path(key);
      // A former holder may have renamed its last record over this one.
      if (file !== undefined && fs.fstatSync(file).ino === fs.statSync(path, { throwIfNoEntry: false })?.ino) return put(file, bytes);
      this.close(key);
      this.#files.set(key, create(path, bytes));
    } catch (error) {
      this.close(key);
      fs.rmSync(this.#path(key), { force: true });
      throw error;
    }
  }

  close(key: string): void {
    const file = this.#files.get(key);
    this.#files.delete(key);
    if (file !== undefined) fs.closeSync(file);
  }

  #path(key: string): string {
    return join(this.place.folder, `${this.place.name}-${digest(encoded(key))}.budget`);
  }
}

function encode(key: string, at: number, record: Uint8Array): Uint8Array {
  const name = encoded(key);
  const bytes = new Uint8Array([...BEGIN, ...new Uint8Array(HEAD - BEGIN.length), ...name, ...record]);
  const head = new DataView(bytes.buffer);
  head.setBigUint64(9, BigInt(at), true);
  head.setUint16(17, name.length, true);
  head.setUint16(19, record.length, true);
  return bytes;
}

/** Whether a file begins with these bytes. */
function has(bytes: Uint8Array, part: Uint8Array): boolean {
  return part.every((byte, i) => bytes[i] === byte);
}

/** Creates a new file in place of the previous one. */
function create(path: string, bytes: Uint8Array): number {
  const aside = `${path}.${process.pid}.new`;
  const file = fs.openSync(aside, "w", 0o600);
  try {
    put(file, bytes);
    fs.renameSync(aside, path);
  } catch (error) {
    fs.closeSync(file);
    fs.rmSync(aside, { force: true });
    throw error;
  }
  return file;
}

function put(file: number, bytes: Uint8Array): void {
  if (fs.writeSync(file, bytes, 0, bytes.length, 0) < bytes.length) throw new Error("the record was written only in part");
}

/** FNV-1a with 64 bits, as 16 digits. */
function digest(bytes: Uint8Array): string {
  let hash = 0xcbf29ce484222325n;
  for (const byte of bytes) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  return hash.toString(16).padStart(16, "0");
}

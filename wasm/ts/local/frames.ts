/** The protocol on a local socket: each side sends a greeting, then frames. See `core/docs/local.md`. */

import { TidegateError } from "../errors.js";
import type { Told } from "../shared/standing.js";
import { decoded, encoded } from "../shared/text.js";

/** The greeting: a name and the version of the protocol. */
const NAME = "tidegate";
export const VERSION = 1;
export const GREETING = new Uint8Array([...encoded(NAME), VERSION]);

/** The largest key and the largest body, in bytes. */
const MOST_KEY = 0xffff;
const MOST_BODY = 4_096;

/** The kinds of answers. A policy follows the holder's greeting. */
export const GRANT = 0;
export const TROUBLE = 1;
export const POLICY = 2;

const HEAD = 8;

/** A frame: a request with its key, or an answer with its kind; and the bytes for `core`. */
export interface Frame {
  readonly id: number;
  /** For answers the kind, for requests the length of the key. */
  readonly kind: number;
  readonly key: string;
  readonly body: Uint8Array<ArrayBuffer>;
}

export function request(id: number, key: string, body: Uint8Array): Uint8Array<ArrayBuffer> {
  const name = encoded(key);
  if (name.length > MOST_KEY) throw new TidegateError("MESSAGE", `a key of ${name.length} bytes cannot be shared: the limit is 65535`);
  return frame(id, name.length, name, body);
}

export function answer(id: number, kind: number, body: Uint8Array): Uint8Array<ArrayBuffer> {
  return frame(id, kind, new Uint8Array(), body.subarray(0, MOST_BODY));
}

/** The number of a frame with a policy: the holder's, or one that replaces it. */
export const NO_REQUEST = 0;

export function policy({ since, digest, text }: Told): Uint8Array<ArrayBuffer> {
  const head = new DataView(new ArrayBuffer(12));
  head.setBigUint64(0, BigInt(since), true);
  head.setUint32(8, digest, true);
  return new Uint8Array([...new Uint8Array(head.buffer), ...encoded(text)]);
}

/** The inverse of `policy`; `undefined` if these bytes are none. */
export function told(body: Uint8Array<ArrayBuffer>): Told | undefined {
  if (body.length < 12) return undefined;
  const head = new DataView(body.buffer, body.byteOffset);
  return { since: Number(head.getBigUint64(0, true)), digest: head.getUint32(8, true), text: decoded(body.subarray(12)) };
}

function frame(id: number, second: number, name: Uint8Array, body: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(HEAD + name.length + body.length);
  const head = new DataView(bytes.buffer);
  head.setUint32(0, id, true);
  head.setUint16(4, second, true);
  head.setUint16(6, body.length, true);
  bytes.set(name, HEAD);
  bytes.set(body, HEAD + name.length);
  return bytes;
}

/** Decodes the other side's bytes, in pieces of any size. */
export class Frames {
  #bytes = new Uint8Array();
  #isGreeted = false;

  /** Whether frames contain keys, as requests do. */
  constructor(private readonly isKeyed: boolean) {}

  /** Returns the frames that these bytes complete. Throws if the other side has another version or is not tidegate. */
  read(more: Uint8Array): Frame[] {
    const bytes = new Uint8Array(this.#bytes.length + more.length);
    bytes.set(this.#bytes);
    bytes.set(more, this.#bytes.length);
    const head = new DataView(bytes.buffer);
    const frames: Frame[] = [];
    let from = 0;
    if (!this.#isGreeted) {
      greeted(bytes.subarray(0, GREETING.length));
      if (bytes.length < GREETING.length) {
        this.#bytes = bytes;
        return frames;
      }
      this.#isGreeted = true;
      from = GREETING.length;
    }
    while (bytes.length - from >= HEAD) {
      const kind = head.getUint16(from + 4, true);
      const named = from + HEAD + (this.isKeyed ? kind : 0);
      const length = head.getUint16(from + 6, true);
      if (length > MOST_BODY) throw new TidegateError("MESSAGE", `a message of ${length} bytes exceeds the limit of ${MOST_BODY}`);
      if (bytes.length < named + length) break;
      const key = decoded(bytes.subarray(from + HEAD, named));
      frames.push({ id: head.getUint32(from, true), kind, key, body: bytes.slice(named, named + length) });
      from = named + length;
    }
    this.#bytes = bytes.slice(from);
    return frames;
  }
}

/** Throws if this is not the start of a greeting. */
function greeted(bytes: Uint8Array): void {
  const wrong = bytes.findIndex((byte, i) => byte !== GREETING[i]);
  if (wrong < 0) return;
  if (wrong < NAME.length) throw new TidegateError("MESSAGE", "another program than tidegate uses the socket: choose another name");
  throw new TidegateError("MESSAGE", `the other process speaks version ${bytes[wrong]} of the local protocol, and this one version ${VERSION}: update the older tidegate`);
}

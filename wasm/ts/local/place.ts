/**
 * The place where processes meet: a socket in a folder that belongs to one user, or a named pipe on Windows.
 *
 * The seat is the socket's path, and whose socket has that path holds the budgets. A process takes the seat
 * when it binds a socket under a name of its own and renames it to the path, which replaces what was there in
 * one step. So a socket that a dead process has left behind needs no care, and a process that was frozen finds
 * by the file's number that the seat is another's.
 */

import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import process from "node:process";
import { PolicyError, TidegateError } from "../errors.js";

/** A path of a socket has so many bytes at most, with what is added to it while it is bound. */
const MOST_PATH = 103;
const ADDED = 16;

const WINDOWS = process.platform === "win32";

let bound = 0;

/** See the module. */
export class Place {
  readonly folder: string;
  readonly name: string;
  /** What members connect to. */
  readonly path: string;

  constructor(name: string, folder?: string) {
    if (!/^[\w-][\w.-]{0,63}$/.test(name)) throw new PolicyError(`name is ${JSON.stringify(name)}; it is 1 to 64 letters, digits, dots, dashes and underscores`);
    this.name = name;
    this.folder = folder ?? path.join(os.tmpdir(), `tidegate-${WINDOWS ? os.userInfo().username : process.getuid!()}`);
    this.path = WINDOWS ? `\\\\.\\pipe\\tidegate-${os.userInfo().username}-${name}` : path.join(this.folder, name);
    const length = new TextEncoder().encode(this.path).length;
    if (!WINDOWS && length > MOST_PATH - ADDED) {
      throw new PolicyError(`the socket ${this.path} has a path of ${length} bytes, and there is room for ${MOST_PATH - ADDED}: choose a shorter folder or name`);
    }
  }

  /** Sees that the folder is there, and that nobody else may enter it. */
  open(): void {
    try {
      fs.mkdirSync(this.folder, { mode: 0o700, recursive: true });
    } catch (error) {
      throw unusable(`the folder ${this.folder} cannot be made`, error);
    }
    const found = fs.lstatSync(this.folder);
    if (!WINDOWS && (!found.isDirectory() || found.uid !== process.getuid!() || found.mode & 0o077)) {
      throw new TidegateError("AWAY", `the folder ${this.folder} is open to others or belongs to another user: make it yours with mode 700, or choose another with the option folder`);
    }
  }

  /** The number of the socket that has the seat; none where there is no socket. */
  look(): bigint | undefined {
    if (WINDOWS) return undefined;
    return fs.statSync(this.path, { bigint: true, throwIfNoEntry: false })?.ino;
  }

  /** Where to bind a socket before it is moved to the seat. */
  aside(): string {
    return WINDOWS ? this.path : `${this.path}.${process.pid}.${bound++ % 1_000}`;
  }

  /** Moves a socket to the seat, if the one that has it is still `found`. Returns its number. */
  take(aside: string, found: bigint | undefined): bigint | undefined | false {
    if (WINDOWS) return undefined;
    fs.chmodSync(aside, 0o600);
    if (this.look() !== found) return false;
    const { ino } = fs.statSync(aside, { bigint: true });
    fs.renameSync(aside, this.path);
    return ino;
  }

  /** Frees the seat, where it is still this socket's. */
  leave(ino: bigint | undefined): void {
    if (ino !== undefined && this.look() === ino) fs.rmSync(this.path, { force: true });
  }
}

/** What a system says, in a sentence that says what follows. */
export function unusable(what: string, error: unknown): TidegateError {
  const why = error instanceof Error ? error.message : String(error);
  return new TidegateError("AWAY", `${what}: ${why}. Calls go on within the share of this process`);
}

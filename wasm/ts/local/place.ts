/**
 * The meeting point of the processes: a socket in a folder that belongs to one user, or a named
 * pipe on Windows.
 *
 * The owner of the socket at this path, the seat, holds the budgets. A process takes the seat when
 * it binds a socket under another name and renames it to the path, which replaces the old one
 * atomically. So a dead process's socket needs no cleanup, and a process that was frozen learns
 * from the file's inode that it has lost the seat.
 */

import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import process from "node:process";
import { PolicyError, TidegateError } from "../errors.js";
import { encoded } from "../shared/text.js";

/** The longest path of a socket, including the suffix while it is bound. */
const MOST_PATH = 103;
const ADDED = 16;

const WINDOWS = process.platform === "win32";

export class Place {
  readonly folder: string;
  readonly name: string;
  /** The path that members connect to. */
  readonly path: string;

  constructor(name: string, folder?: string) {
    if (!/^[\w-][\w.-]{0,63}$/.test(name)) throw new PolicyError(`name is ${JSON.stringify(name)}; it must be 1 to 64 letters, digits, dots, dashes and underscores`);
    this.name = name;
    this.folder = folder ?? join(base(), `tidegate-${WINDOWS ? os.userInfo().username : process.getuid!()}`);
    this.path = WINDOWS ? `\\\\.\\pipe\\tidegate-${os.userInfo().username}-${name}` : join(this.folder, name);
    const length = encoded(this.path).length;
    if (!WINDOWS && length > MOST_PATH - ADDED) {
      throw new PolicyError(`the path of the socket ${this.path} has ${length} bytes, and the limit is ${MOST_PATH - ADDED}: choose a shorter folder or name`);
    }
  }

  /** Creates the folder if necessary, and checks that no other user can enter it. */
  open(): void {
    try {
      fs.mkdirSync(this.folder, { mode: 0o700, recursive: true });
    } catch (error) {
      throw unusable(`the folder ${this.folder} cannot be made`, error);
    }
    if (!WINDOWS && !isPrivate(this.folder)) {
      throw new TidegateError("AWAY", `the folder ${this.folder} is open to others or belongs to another user: make it yours with mode 700, or choose another with the option folder`);
    }
  }

  /** The inode of the socket at the seat; `undefined` without one. */
  look(): bigint | undefined {
    if (WINDOWS) return undefined;
    return fs.statSync(this.path, { bigint: true, throwIfNoEntry: false })?.ino;
  }

  /** A path at which to bind a socket before it is moved to the seat. */
  aside(): string {
    return WINDOWS ? this.path : `${this.path}.${process.pid}.${Math.floor(Math.random() * 1e6)}`;
  }

  /** Moves a socket to the seat if the present one is still `found`. Returns its inode. It replaces nothing but a socket. */
  take(aside: string, found: bigint | undefined): bigint | undefined | false {
    if (WINDOWS) return undefined;
    fs.chmodSync(aside, 0o600);
    if (this.look() !== found) return false;
    if (fs.lstatSync(this.path, { throwIfNoEntry: false })?.isSocket() === false) throw new Error("the file there is not a socket");
    const { ino } = fs.statSync(aside, { bigint: true });
    fs.renameSync(aside, this.path);
    return ino;
  }

  /** Frees the seat if it still belongs to this socket. */
  leave(ino: bigint | undefined): void {
    if (ino !== undefined && this.look() === ino) fs.rmSync(this.path, { force: true });
  }
}

/** A file's path. The system resolves `..` after symbolic links, as in Rust; `path.join` would remove it with the part before. */
export function join(folder: string, name: string): string {
  return folder.endsWith("/") ? folder + name : `${folder}/${name}`;
}

/** The folder of the default folder, as in Rust. */
function base(): string {
  if (WINDOWS) return os.tmpdir();
  const { XDG_RUNTIME_DIR: runtime = "", TMPDIR: temporary = "" } = process.env;
  if (path.isAbsolute(runtime) && isPrivate(runtime)) return runtime;
  return path.isAbsolute(temporary) ? temporary : "/tmp";
}

/** Whether this is a folder of this user that no other user can enter. */
function isPrivate(folder: string): boolean {
  try {
    const found = fs.lstatSync(folder);
    return found.isDirectory() && found.uid === process.getuid!() && !(found.mode & 0o077);
  } catch {
    return false;
  }
}

/** An error that contains the system's message, without the numbers of a path aside, and says that calls continue. */
export function unusable(what: string, error: unknown): TidegateError {
  const why = error instanceof Error ? error.message : String(error);
  return new TidegateError("AWAY", `${what}: ${why.replace(/\.\d+\.\d+\b/, "")}. Calls continue within the share of this process`);
}

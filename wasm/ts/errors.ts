/** Error classes with a `code`: why a call was not sent. */

/** The codes of {@link TidegateError}. */
export type Code =
  | "QUEUE_FULL"
  | "DEADLINE_EXCEEDED"
  | "TOO_BIG"
  | "OVER_LIMIT"
  | "NEVER"
  | "RETRY_BUDGET"
  | "EXHAUSTED"
  | "ATTEMPT_TIMEOUT"
  | "KEYS_FULL"
  | "MEMORY"
  | "COMPILE"
  | "CLOSED"
  | "POLICY"
  | "SNAPSHOT"
  | "MESSAGE"
  | "AWAY";

/** The name of a class in every copy of this package that a program has loaded: of other entries, or imported and required. */
const KIND = Symbol.for("tidegate.error");

/** The base class of all errors of this package. `instanceof` also finds the errors of other entries, imported or required. */
export class TidegateError extends Error {
  static readonly [KIND]: string = "TidegateError";
  override name: string = (this.constructor as typeof TidegateError)[KIND];
  constructor(
    /** The reason, for programs. */
    readonly code: Code,
    message: string,
  ) {
    super(message);
  }

  static [Symbol.hasInstance](error: unknown): boolean {
    // A subclass of a program has no name here, so it has only its own instances.
    const own = Object.hasOwn(this, KIND) && this[KIND];
    let kind = (error as object | null | undefined)?.constructor as typeof TidegateError | null | undefined;
    while (kind && kind !== this && !(own && Object.hasOwn(kind, KIND) && kind[KIND] === own)) kind = Object.getPrototypeOf(kind);
    return !!kind;
  }
}

/** The queue of the key is full: see the option `queue`. */
export class QueueFull extends TidegateError {
  static override readonly [KIND] = "QueueFull";
  constructor(most: number, key: string) {
    super("QUEUE_FULL", `${most} calls already wait for ${key || "the gate"}: send fewer calls, or raise the option queue`);
  }
}

/** The call cannot be sent before its deadline, or was still in flight at it. */
export class DeadlineExceeded extends TidegateError {
  static override readonly [KIND] = "DeadlineExceeded";
  constructor(
    /** How long the call would have waited, in milliseconds; 0 if it was in flight. */
    readonly wait: number,
  ) {
    super("DEADLINE_EXCEEDED", wait > 0 ? `the call would have to wait ${Math.ceil(wait)} ms, past its deadline` : "the call was still in flight at its deadline");
  }
}

/** The call cannot be sent, now or later. `code` says why. */
export class Rejected extends TidegateError {
  static override readonly [KIND] = "Rejected";
}

/** The gate was closed. */
export class Closed extends TidegateError {
  static override readonly [KIND] = "Closed";
  constructor() {
    super("CLOSED", "the gate is closed");
  }
}

/** The options are invalid. */
export class PolicyError extends TidegateError {
  static override readonly [KIND] = "PolicyError";
  constructor(message: string) {
    super("POLICY", message);
  }
}

/** Why each of these results ended its call. */
const reasons = new WeakMap<object, TidegateError>();

/**
 * Returns the error that ended the call of this result (a response of `fetch`, or what `run` throws), or `undefined`.
 * The `code` is `"EXHAUSTED"` if the server's quota is used up or unpaid, `"DEADLINE_EXCEEDED"` if the server asks to
 * wait past the deadline, and the gate's code if the gate rejects another attempt.
 */
export function errorOf(result: unknown): TidegateError | undefined {
  return reasons.get(result as object);
}

/** Stores the error that ended the call of a result. */
export function keepError(result: unknown, error: TidegateError | undefined): void {
  if (error && typeof result === "object" && result) reasons.set(result, error);
}

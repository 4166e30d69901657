/** An instance of tools/sim/wasm: its exports, with strings and numbers in place of addresses. */

import { EngineError } from "./index";
import type { Opened } from "./messages";

/** The exports of the module. */
export interface Exports {
  memory: WebAssembly.Memory;
  text(length: number): number;
  text_at(): number;
  text_length(): number;
  numbers_at(): number;
  numbers_length(): number;
  laws(): void;
  to_json(): number;
  to_toml(): number;
  open(law: number, seed: number): number;
  advance(world: number, until: number): number;
  frame(world: number): void;
  metrics(world: number): void;
  digest(world: number): void;
  close(world: number): void;
}

const encoded = (text: string) => new TextEncoder().encode(text);

const REJECTIONS = { [-1]: "scenario", [-2]: "law", [-3]: "broken" } as const;

export class Simulator {
  readonly #exports: Exports;

  constructor(exports: Exports) {
    this.#exports = exports;
  }

  laws(): string[] {
    this.#exports.laws();
    return this.#text().split("\n");
  }

  parse(file: string): object {
    this.#write(encoded(file));
    this.#check(this.#exports.to_json());
    return JSON.parse(this.#text()) as object;
  }

  print(scenario: object): string {
    this.#write(encoded(JSON.stringify(scenario)));
    this.#check(this.#exports.to_toml());
    return this.#text();
  }

  /** Opens a world and returns its number. */
  open(scenario: string, law: string, seed: number): [number, Opened] {
    const name = encoded(law);
    this.#write(name, encoded(scenario));
    const world = this.#check(this.#exports.open(name.length, seed));
    const [end = 0, bin = 0, ...processOf] = this.#numbers();
    return [world, { end, bin, processOf: Uint32Array.from(processOf) }];
  }

  /** Returns whether more slices are needed. */
  advance(world: number, until: number): boolean {
    return this.#check(this.#exports.advance(world, until)) > 0;
  }

  frame(world: number): Float64Array {
    this.#exports.frame(world);
    return this.#numbers();
  }

  metrics(world: number): Record<string, number | null> {
    this.#exports.metrics(world);
    const values = this.#numbers();
    const names = this.#text().split("\n");
    return Object.fromEntries(names.map((name, i) => [name, Number.isNaN(values[i]) ? null : values[i]!]));
  }

  digest(world: number): string {
    this.#exports.digest(world);
    return Array.from(this.#numbers(), (half) => half.toString(16).padStart(8, "0")).join("");
  }

  close(world: number): void {
    this.#exports.close(world);
  }

  #write(...parts: Uint8Array[]): void {
    let at = this.#exports.text(parts.reduce((sum, { length }) => sum + length, 0));
    const memory = new Uint8Array(this.#exports.memory.buffer);
    for (const part of parts) {
      memory.set(part, at);
      at += part.length;
    }
  }

  #check(answer: number): number {
    if (answer >= 0) return answer;
    throw new EngineError(REJECTIONS[answer as keyof typeof REJECTIONS], this.#text());
  }

  #text(): string {
    const at = this.#exports.text_at();
    return new TextDecoder().decode(new Uint8Array(this.#exports.memory.buffer, at, this.#exports.text_length()));
  }

  #numbers(): Float64Array {
    const at = this.#exports.numbers_at();
    return new Float64Array(this.#exports.memory.buffer, at, this.#exports.numbers_length()).slice();
  }
}

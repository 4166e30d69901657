/**
 * Four clients, each in a separate world, under the same hidden limit: the crate's controllers and
 * the simulator of tools/sim, by the module in tools/sim/story. Time is counted in bins of a tenth of a second.
 */

export interface Exports {
  memory: WebAssembly.Memory;
  open(law: number, seed: number, clients: number, rate: number): number;
  advance(world: number): number;
  set_rate(world: number, perSecond: number): void;
  close(): void;
}

/** The laws of the four clients, as the module numbers them. */
export const LAWS = ["none", "backoff", "aimd", "adaptive"] as const;
/** Bins in a second. */
export const SECOND = 10;
/** The part of a run that the picture shows, in bins. */
export const SPAN = 60 * SECOND;
/** Calls that the server's bucket holds. It starts full. */
const BURST = 20;

/** What the first picture shows: from each bin on, the limit in calls per second. Of 31 seeds, the run is the median. */
export const DEFAULT = { seed: 28, limits: [[0, 100], [180, 200], [420, 60]] } as const;
/** The limit when there are other clients. */
export const SHARED = { seed: 31, limits: [[0, 100]] } as const;

type Limits = readonly (readonly [bin: number, perSecond: number])[];

/** What happened to the clients of one world, bin by bin. */
export interface Track {
  /** By client: calls that arrived at the server, and those of them that were rejected. */
  sent: number[][];
  rejected: number[][];
  /** Calls that arrived, of all clients. */
  all: number[];
  /** The rate that the law of the first client allows, in calls per second; 0: none. */
  rate: number[];
  /** Calls served and calls rejected before each bin, of all clients. */
  servedBefore: number[];
  rejectedBefore: number[];
}

export class Story {
  readonly tracks: Track[];
  /** The limit in each bin. */
  readonly limit: number[] = [];
  /** Calls that the server could have served before each bin. */
  readonly possible: number[] = [BURST];
  /** The bins in which the limit changes, with the limit from then on. */
  readonly moves: [bin: number, perSecond: number][] = [];
  readonly #worlds: number[];
  #script: Limits;

  constructor(readonly exports: Exports, readonly clients: number, seed: number, limits: Limits) {
    exports.close();
    const first = limits[0]?.[1] ?? 0;
    this.#worlds = LAWS.map((_, law) => exports.open(law, seed, clients, first));
    this.#script = limits;
    const each = () => Array.from({ length: clients }, (): number[] => []);
    this.tracks = LAWS.map(() => ({ sent: each(), rejected: each(), all: [], rate: [], servedBefore: [0], rejectedBefore: [0] }));
  }

  /** Bins that have been run. */
  get bins(): number {
    return this.limit.length;
  }

  /** The limit in a bin, or at present. */
  limitAt(bin = this.bins): number {
    return this.limit[bin] ?? this.moves.at(-1)?.[1] ?? this.#script[0]?.[1] ?? 0;
  }

  /** Moves the limit from now on, in all worlds. The later moves of the script no longer happen. */
  move(perSecond: number): void {
    this.#script = [];
    this.#move(perSecond);
  }

  /** Runs all worlds until this many bins have ended. */
  run(until: number): void {
    while (this.bins < until) {
      const move = this.#script.find(([bin]) => bin === this.bins);
      if (move) this.#move(move[1]);
      this.tracks.forEach((track, world) => this.#advance(track, this.#worlds[world]!));
      const limit = this.limitAt();
      this.possible.push(this.possible.at(-1)! + limit / SECOND);
      this.limit.push(limit);
    }
  }

  /** Calls rejected, and the share of the limit that was used, before a bin. */
  score(law: number, bin: number): { wasted: number; used: number } {
    const { servedBefore, rejectedBefore } = this.tracks[law]!;
    return { wasted: rejectedBefore[bin] ?? 0, used: Math.min(1, (servedBefore[bin] ?? 0) / (this.possible[bin] ?? 1)) };
  }

  #move(perSecond: number): void {
    for (const world of this.#worlds) this.exports.set_rate(world, perSecond);
    if (this.moves.at(-1)?.[0] === this.bins) this.moves.pop();
    if (this.moves.at(-1)?.[1] !== perSecond) this.moves.push([this.bins, perSecond]);
  }

  #advance(track: Track, world: number): void {
    const at = this.exports.advance(world);
    const numbers = new Float64Array(this.exports.memory.buffer, at, 2 * this.clients + 1);
    let all = 0;
    let [served, rejected] = [track.servedBefore.at(-1)!, track.rejectedBefore.at(-1)!];
    for (let client = 0; client < this.clients; client++) {
      const [calls = 0, bad = 0] = numbers.subarray(2 * client);
      track.sent[client]!.push(calls);
      track.rejected[client]!.push(bad);
      all += calls;
      served += calls - bad;
      rejected += bad;
    }
    track.all.push(all);
    track.rate.push(numbers[2 * this.clients] ?? 0);
    track.servedBefore.push(served);
    track.rejectedBefore.push(rejected);
  }
}

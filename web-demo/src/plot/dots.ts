/**
 * Draws calls as dots between clients and a server. Clients stand in a row above; the sea below
 * shows the calls that the server would serve at once. A call that finds water returns as a disc;
 * one that finds none is throttled and returns as a cross.
 */

import type { Frame, World } from "../engine";
import { Calls } from "./calls";
import { Sheet } from "./canvas";
import { number, round } from "./number";
import { font, tone } from "./theme";

export interface Look {
  /** The level at which the sea is full, in calls. */
  full: number;
  /** One-way time, in virtual seconds. */
  way: number;
  /** How many processes are drawn as clients; the others are the reader's calls. Default: all. */
  clients?: number;
  /** Draws more above the clients and below the sea, where room is left for it. */
  more?: (pen: CanvasRenderingContext2D, place: Place, sample: Sample) => void;
}

/** The shortest one-way time of a dot in the reader's seconds, so that it can be followed. */
const LEAST_WAY = 0.45;
/** The opacity of the tail behind a dot. */
const TAIL = 0.28;
/** The most dots a second, on a fast machine. */
const CROWD = 90;

export interface Sample { at: number; level: number | null; rate: number; waiting: Float64Array; inFlight: Uint32Array; served: Float64Array; throttled: Float64Array }

export class Dots {
  readonly #sheet: Sheet;
  readonly #calls = new Calls();
  #samples: Sample[] = [];
  #world: World | null = null;
  #look: Look = { full: 1, way: 0.05 };
  #own = new Uint32Array(); // a thread's number within its process
  #now = 0;
  #speed = 1;
  #arrived = 0; // calls that have arrived
  #tide = 0; // the drawn level, which follows the true one
  #most = CROWD; // the most dots a second on this machine

  /** `count` shows how many calls were throttled so far. */
  constructor(canvas: HTMLCanvasElement, readonly count?: HTMLElement | null) {
    this.#sheet = new Sheet(canvas, () => this.paint(this.#now, 0));
  }

  /** How far the engine must run ahead, in the reader's seconds. */
  static readonly lead = LEAST_WAY * 1.5;

  /** Calls that one dot represents. */
  get callsPerDot(): number {
    return this.#calls.every;
  }

  begin(world: World, look: Look): void {
    [this.#world, this.#look, this.#samples, this.#now, this.#arrived] = [world, look, [], 0, 0];
    this.#calls.clear();
    this.#calls.every = 1;
    const seen = new Uint32Array(world.processes);
    this.#own = world.processOf.map((process) => (seen[process] = (seen[process] ?? 0) + 1) - 1);
    this.#tide = 1;
  }

  /** Draws fewer dots than a fast machine, by this factor. */
  ease(factor: number): void {
    this.#most = CROWD / factor;
  }

  take(frame: Frame): void {
    const before = this.#samples.at(-1);
    const arrived = sum(frame.served) + sum(frame.throttled);
    const passed = frame.now - (before?.at ?? 0);
    if (passed > 0) this.#thin(((arrived - this.#arrived) / passed) * this.#speed);
    this.#arrived = arrived;
    this.#calls.take(frame);
    const { now: at, level, rate, waiting, inFlight, served, throttled } = frame;
    this.#samples.push({ at, level, rate, waiting, inFlight, served, throttled });
  }

  /** Limits the dots a second, in steps of 1, 2, 5. */
  #thin(perSecond: number): void {
    const every = perSecond / this.#most;
    if (every <= 1) this.#calls.every = 1;
    else if (every > this.#calls.every || every < this.#calls.every / 2.5) this.#calls.every = round(every, [1, 2, 5, 10]);
  }

  paint(now: number, speed: number): void {
    this.#now = now;
    if (speed > 0) this.#speed = speed;
    const world = this.#world;
    const { pen, width, height } = this.#sheet;
    pen.clearRect(0, 0, width, height);
    if (!world || width === 0) return;
    const sample = this.#sampleOf(now);
    // Matches the table, whose numbers are a little ahead of the drawing.
    if (this.count) this.count.textContent = `${number(sum(this.#samples.at(-1)?.throttled.subarray(0, this.#look.clients) ?? []), 9)} wasted`;
    const own = this.#look.clients ?? world.processes;
    // The reader's calls have their own place.
    const place = new Place(width, height, own + Number(own < world.processes), this.#look);
    this.#sea(place, sample, speed);
    this.#clients(place, sample);
    this.#dots(place, now);
    this.#level(place, sample?.level ?? null);
    if (sample) this.#look.more?.(pen, place, sample);
  }

  #sampleOf(now: number): Sample | undefined {
    while (this.#samples.length > 1 && (this.#samples[1]?.at ?? Infinity) <= now) this.#samples.shift();
    return this.#samples[0];
  }

  #sea(place: Place, sample: Sample | undefined, speed: number): void {
    const { pen } = this.#sheet;
    const { gate, floor, width } = place;
    const level = sample?.level ?? null;
    const share = level === null ? 0 : Math.max(0, Math.min(1, level / this.#look.full));
    this.#tide += (share - this.#tide) * (speed > 0 ? 0.3 : 1);
    const surface = this.#surface(place);
    pen.fillStyle = tone("wash");
    pen.fillRect(0, gate, width, floor - gate);
    // The wave stands still at speed 0, as with reduced motion.
    pen.beginPath();
    pen.moveTo(0, floor);
    for (let x = 0; x <= width + 8; x += 8) {
      pen.lineTo(x, surface + (this.#tide > 0.01 ? 2.2 * Math.sin(x / 26 + this.#now / Math.max(this.#speed, 1e-9) * 2.2) : 0));
    }
    pen.lineTo(width, floor);
    pen.closePath();
    pen.fillStyle = tone("water");
    pen.fill();
    pen.fillStyle = tone("deep");
    pen.fillRect(0, gate - 1.5, width, 3);
    const posts = Math.max(2, Math.round(width / 60));
    for (let post = 0; post <= posts; post++) pen.fillRect((post / posts) * (width - 3), gate - 8, 3, 16);
  }

  /** Writes the level in calls, above all moving parts. */
  #level(place: Place, level: number | null): void {
    if (level === null) return;
    const { pen } = this.#sheet;
    const { gate, width } = place;
    const surface = this.#surface(place);
    const words = `${number(Math.floor(level), 9)} of ${number(this.#look.full, 9)} left`;
    const above = surface - 6 > gate + 18;
    const at = above ? surface - 6 : surface + 20;
    pen.font = font();
    pen.textAlign = "right";
    pen.textBaseline = "bottom";
    pen.lineWidth = 4;
    pen.lineJoin = "round";
    pen.strokeStyle = tone(above ? "wash" : "water");
    pen.fillStyle = above ? tone("ink") : "#fff";
    pen.strokeText(words, width - 10, at);
    pen.fillText(words, width - 10, at);
  }

  #surface({ gate, floor }: Place): number {
    return floor - this.#tide * (floor - gate - 14);
  }

  #clients(place: Place, sample: Sample | undefined): void {
    const { pen } = this.#sheet;
    const count = place.clients;
    const { side } = place;
    for (let client = 0; client < count; client++) {
      const x = place.x(client);
      const mine = client >= (this.#look.clients ?? count);
      pen.fillStyle = tone(mine ? "s3" : "ink");
      pen.globalAlpha = (sample?.inFlight[client] ?? 0) > 0 || mine ? 1 : 0.55;
      pen.beginPath();
      if (mine) turned(pen, x, place.row, side / 1.5);
      else pen.roundRect(x - side / 2, place.row - side / 2, side, side, side / 4);
      pen.fill();
      pen.globalAlpha = 1;
    }
  }

  #dots(place: Place, now: number): void {
    const { pen } = this.#sheet;
    const way = Math.max(this.#look.way, LEAST_WAY * this.#speed);
    const size = Math.max(2.4, Math.min(4.5, place.pitch / 5));
    const { gate, row, floor } = place;
    const dip = gate + (floor - gate) * (1 - this.#tide);
    for (const { at, thread, served } of this.#calls.between(now - way, now + way)) {
      const process = Math.min(this.#world?.processOf[thread] ?? 0, place.clients - 1);
      const mine = process >= (this.#look.clients ?? Infinity);
      const lane = place.lane(process, this.#own[thread] ?? 0);
      const part = (now - at) / way; // -1 when sent, 0 at the gate, 1 at its return
      const end = served ? Math.min(floor - 8, Math.max(gate + 12, dip)) : gate - 6;
      const from = row + 12;
      if (part < 0) {
        pen.fillStyle = pen.strokeStyle = tone(mine ? "s3" : "ink");
        const y = from + (end - from) * (1 + part);
        lines(pen, 2, TAIL, lane, Math.max(from, y - 18), lane, y);
        disc(pen, lane, y, size * (mine ? 1.4 : 0.85));
      } else if (served) {
        pen.fillStyle = pen.strokeStyle = tone("served");
        const y = end + (from - end) * part;
        lines(pen, 2, TAIL, lane, Math.min(end, y + 18), lane, y);
        disc(pen, lane, y, size);
        ring(pen, lane, end, 3 + 40 * part, 1 - part * 2.5);
      } else {
        pen.strokeStyle = tone("throttled");
        // A throttled call leaves a mark at the gate for a moment.
        if (part < 0.3) lines(pen, 4, 1 - part / 0.3, lane - 9, gate, lane + 9, gate);
        const [x, y] = [lane + 10 * Math.sin(part * Math.PI), end + (from - end) * part];
        lines(pen, 2, 1, x - size, y - size, x + size, y + size, x - size, y + size, x + size, y - size);
      }
    }
  }
}

/** Where everything is drawn. */
export class Place {
  readonly pitch: number;
  readonly row: number;
  readonly gate: number;
  readonly floor: number;
  /** The size of a client. */
  readonly side: number;

  constructor(readonly width: number, readonly height: number, readonly clients: number, look: Look) {
    this.pitch = (width - 24) / clients;
    this.side = Math.max(4, Math.min(18, this.pitch * 0.6));
    this.row = look.more ? Math.round(height * 0.24) : 18;
    this.floor = look.more ? Math.round(height * 0.8) : height;
    this.gate = Math.round(this.row + (this.floor - this.row) * 0.6);
  }

  readonly x = (client: number): number => 12 + (client + 0.5) * this.pitch;

  /** The lane for a thread's calls, beside the others of its process. */
  lane(client: number, own: number): number {
    const spread = this.clients > 2 ? Math.min(this.pitch * 0.7, 60) : this.pitch * 0.85;
    return this.x(client) + spread * (((own * 0.618034) % 1) - 0.5);
  }
}

/** A square on its corner. */
function turned(pen: CanvasRenderingContext2D, x: number, y: number, size: number): void {
  pen.moveTo(x, y - size);
  pen.lineTo(x + size, y);
  pen.lineTo(x, y + size);
  pen.lineTo(x - size, y);
  pen.closePath();
}

function disc(pen: CanvasRenderingContext2D, x: number, y: number, size: number): void {
  pen.beginPath();
  pen.arc(x, y, size, 0, 7);
  pen.fill();
}

/** A straight line for every two points. */
export function lines(pen: CanvasRenderingContext2D, width: number, alpha: number, ...points: number[]): void {
  pen.globalAlpha = alpha;
  pen.lineWidth = width;
  pen.beginPath();
  for (let at = 0; at < points.length; at += 4) {
    pen.moveTo(points[at]!, points[at + 1]!);
    pen.lineTo(points[at + 2]!, points[at + 3]!);
  }
  pen.stroke();
  pen.globalAlpha = 1;
}

function ring(pen: CanvasRenderingContext2D, x: number, y: number, size: number, alpha: number): void {
  if (alpha <= 0) return;
  pen.globalAlpha = alpha;
  pen.strokeStyle = "#fff";
  pen.lineWidth = 1.5;
  pen.beginPath();
  pen.ellipse(x, y, size, size / 4, 0, 0, 7);
  pen.stroke();
  pen.globalAlpha = 1;
}

export const sum = (values: Float64Array | never[]): number => (values as Float64Array).reduce((total, value) => total + value, 0);

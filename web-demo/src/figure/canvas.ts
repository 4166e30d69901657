/** Draws the lines on canvases side by side, each with a place in time. They move left together, and only what is new is drawn. */

import { onTheme, tone } from "../plot/theme";
import { TALL, crosses, dot, lines, stretch, type Point, type View } from "./picture";
import { SPAN, type Story } from "./story";

/** How far lines and marks reach beyond the plot, as in the style sheet; half the width of the widest mark; the width of a canvas: in pixels. */
const [ABOVE, BELOW, RIGHT, MARK, WIDE] = [12, 2, 6, 8, 128];
/** The classes of all lines and marks. */
const STYLES = ["wash", "grid", "ghost", "limit", "limit ahead", "share", "all", "other", "wasted", "halo", "mine", "x", "dot"];

interface Tile { canvas: HTMLCanvasElement; pen: CanvasRenderingContext2D; place: number }
interface Style { fill: string; stroke: string; width: number; alpha: number; dash: number[] }

export class Canvas {
  /** The canvas for a place is the one with its number modulo their count. */
  #tiles: Tile[] = [];
  readonly #styles = new Map<string, Style>();
  /** The story that has been drawn, up to which bin, and what else decides each line. */
  #story?: Story;
  #end = 0;
  #key = "";
  #size = "";

  constructor(readonly host: HTMLElement) {
    onTheme(() => { this.#styles.clear(); this.#key = ""; });
  }

  /** Draws what has changed since the last time. Returns how far the picture has moved to the left, in pixels. */
  draw(view: View): number {
    const { story, step, now, ghosts, top, wide, tall } = view;
    const ratio = Math.min(2, devicePixelRatio);
    const [perBin, width] = [wide * ratio / SPAN, Math.round(WIDE * ratio)];
    const [end, moved] = [Math.floor(now), Math.round(Math.max(0, now - SPAN) * perBin)];
    const key = [step, ghosts, top, now < SPAN && story.limitAt(end)].join();
    const size = [wide, tall, ratio].join();
    if (size !== this.#size) this.#resize(Math.ceil((wide + RIGHT) / WIDE) + 1, width, Math.round((tall + ABOVE + BELOW) * ratio), ratio);
    else if (this.#story !== story || key !== this.#key || end < this.#end) for (const tile of this.#tiles) tile.place = -1;
    // The end of each line is smoothed again, and a cross there may move within its stretch.
    const since = Math.floor((this.#end - 7) / stretch(wide)) * stretch(wide);
    const [left, right] = [Math.floor(since * perBin - MARK * ratio), Math.ceil(end * perBin + MARK * ratio)];
    for (let place = Math.floor(moved / width); place * width < moved + (wide + RIGHT) * ratio; place++) {
      const tile = this.#tiles[place % this.#tiles.length]!;
      let [from, to] = [place * width, (place + 1) * width];
      if (tile.place === place) [from, to] = [Math.max(from, left), Math.min(to, right)];
      else tile.canvas.style.left = `${from / ratio}px`;
      tile.place = place;
      if (from < to) this.#part(tile, view, ratio, width, from, to);
    }
    [this.#story, this.#end, this.#key, this.#size] = [story, end, key, size];
    return moved / ratio;
  }

  #resize(count: number, width: number, height: number, ratio: number): void {
    this.#tiles = Array.from({ length: count }, () => {
      const canvas = Object.assign(document.createElement("canvas"), { width, height });
      // Outside until it has a place.
      [canvas.style.left, canvas.style.width, canvas.style.height] = ["-999px", `${width / ratio}px`, `${height / ratio}px`];
      return { canvas, pen: canvas.getContext("2d", { alpha: false })!, place: -1 };
    });
    this.host.replaceChildren(...this.#tiles.map(({ canvas }) => canvas));
  }

  /** Draws all that is between two pixels, counted from the start of the story. */
  #part({ canvas: { height }, pen, place }: Tile, view: View, ratio: number, width: number, left: number, right: number): void {
    const perBin = view.wide * ratio / SPAN;
    const from = Math.max(0, Math.floor(left / perBin) - 2);
    const stretched = new DOMMatrix([perBin, 0, 0, view.tall * ratio / TALL, 0, ABOVE * ratio]);
    pen.save();
    pen.translate(-place * width, 0);
    pen.beginPath();
    pen.rect(left, 0, right - left, height);
    pen.clip();
    [pen.fillStyle, pen.lineJoin] = [tone("paper"), "round"];
    pen.fill();
    for (const [styles, d] of lines(view, from, Math.ceil(right / perBin) + 2)) {
      const path = new Path2D();
      path.addPath(new Path2D(d), stretched);
      for (const name of styles) {
        const { fill, stroke, width, alpha, dash } = this.#style(name);
        // A dash has the same place, whichever part is drawn.
        const from = parseFloat(d.slice(1)) * perBin;
        [pen.globalAlpha, pen.fillStyle, pen.strokeStyle, pen.lineWidth, pen.lineDashOffset] = [alpha, fill, stroke, width * ratio, from];
        pen.setLineDash(dash.map((length) => length * ratio));
        if (fill !== "none") pen.fill(path);
        if (stroke !== "none") pen.stroke(path);
      }
    }
    const at = ([bin, rate]: Point) => [bin * perBin, (ABOVE + (1 - Math.min(1.02, rate / view.top)) * view.tall) * ratio] as const;
    // Two lines each: to find a font that has a cross takes long.
    [pen.globalAlpha, pen.fillStyle, pen.strokeStyle, pen.lineWidth] = [1, this.#style("dot").fill, this.#style("x").fill, 1.75 * ratio];
    pen.setLineDash([]);
    for (const point of crosses(view, Math.max(0, from - 2 * stretch(view.wide)))) {
      const [[x, y], arm] = [at(point), 3.5 * ratio];
      pen.beginPath();
      for (const way of [-arm, arm]) {
        pen.moveTo(x - way, y - arm);
        pen.lineTo(x + way, y + arm);
      }
      pen.stroke();
    }
    pen.beginPath();
    for (const point of dot(view)) pen.arc(...at(point), 4 * ratio, 0, 7);
    pen.fill();
    pen.restore();
  }

  /** What the style sheet says about a class in the plot. The first question reads all, because each reading takes a layout. */
  #style(name: string): Style {
    if (!this.#styles.size) {
      const probes = document.createElement("div");
      probes.innerHTML = `<svg>${STYLES.map((name) => `<path class="${name}"/>`).join("")}</svg>`;
      this.host.append(probes);
      STYLES.forEach((name, index) => {
        const { fill, stroke, strokeWidth, opacity, strokeDasharray } = getComputedStyle(probes.firstChild!.childNodes[index] as Element);
        const dash = strokeDasharray === "none" ? [] : strokeDasharray.split(/[ ,]+/).map(parseFloat);
        this.#styles.set(name, { fill, stroke, dash, width: parseFloat(strokeWidth), alpha: Number(opacity) });
      });
      probes.remove();
    }
    return this.#styles.get(name)!;
  }
}

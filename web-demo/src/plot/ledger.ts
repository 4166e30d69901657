/** Draws what dots do not show: how long each client has to wait, and how much it has been served. */

import { lines, sum, type Place, type Sample } from "./dots";
import { number, seconds } from "./number";
import { font, tone } from "./theme";

/** Scales for the bars above the clients, s. The first that holds the longest wait is used. */
const SCALES = [10, 30, 60, 300, 900, 3600, 14400, 86400];

export class Ledger {
  #scale = SCALES[0]!;

  readonly draw = (pen: CanvasRenderingContext2D, place: Place, sample: Sample): void => {
    this.#waits(pen, place, sample);
    this.#shares(pen, place, sample);
    pen.textAlign = "left";
    pen.font = font(0.7);
    pen.fillStyle = tone("soft");
    pen.textBaseline = "top";
    pen.fillText(`wait of the next call; a full bar is ${seconds(this.#scale)}`, 4, 2);
    pen.textBaseline = "bottom";
    pen.fillText(`served so far, most: ${number(Math.max(...sample.served))}; dashed: equal share`, 4, place.floor + 18);
  };

  /** Bars above the clients, which shrink over time. */
  #waits(pen: CanvasRenderingContext2D, { row, side, x }: Place, { waiting }: Sample): void {
    const longest = Math.max(this.#scale, ...waiting.filter((wait) => wait >= 0));
    this.#scale = SCALES.find((scale) => scale >= longest) ?? this.#scale;
    pen.fillStyle = tone("s4");
    waiting.forEach((wait, client) => {
      if (!(wait > 0)) return;
      const tall = Math.max(1, Math.min(1, wait / this.#scale) * (row - side / 2 - 18));
      pen.fillRect(x(client) - side / 4, row - side / 2 - 2 - tall, side / 2, tall);
    });
  }

  /** The calls served to each client, and a line at the equal share. */
  #shares(pen: CanvasRenderingContext2D, { floor, height, clients, width, pitch, x }: Place, { served }: Sample): void {
    const most = Math.max(1, ...served);
    const room = height - floor - 24;
    const wide = Math.max(3, Math.min(28, pitch * 0.6));
    pen.fillStyle = tone("served");
    served.forEach((calls, client) => {
      const tall = (calls / most) * room;
      pen.fillRect(x(client) - wide / 2, height - 2 - tall, wide, tall);
    });
    const equal = height - 2 - (sum(served) / clients / most) * room;
    pen.strokeStyle = tone("ink");
    pen.setLineDash([5, 4]);
    lines(pen, 1, 1, 0, equal, width, equal);
    pen.setLineDash([]);
  }
}

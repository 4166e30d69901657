/** A law's clients now: one bar each, as long as the remaining wait of its next call. */

import { Sheet } from "../plot/canvas";
import { tone, type Tone } from "../plot/theme";
import { h } from "./dom";
import { SHORTEST, type Lane } from "./lane";

export class Strip {
  readonly element = h("canvas", { class: "strip", "aria-hidden": "true" });
  #sheet: Sheet | null = null;
  #power = 1;

  constructor(readonly lane: Lane, readonly colour: Tone) {}

  /** `power` is the power of ten of the longest wait of all laws. */
  paint(power: number): void {
    if (!this.element.isConnected) return;
    this.#power = power;
    this.#sheet ??= new Sheet(this.element, () => this.#draw());
    this.#draw();
  }

  destroy(): void {
    this.#sheet?.destroy();
  }

  #draw(): void {
    const { pen, width, height } = this.#sheet!;
    pen.clearRect(0, 0, width, height);
    const { frame } = this.lane;
    if (!frame) return;
    const [each, least] = [width / frame.waiting.length, Math.log10(SHORTEST)];
    const gap = each > 4 ? 2 : each > 2 ? 1 : 0;
    frame.waiting.forEach((wait, client) => {
      const share = wait > SHORTEST ? Math.min(1, (Math.log10(wait) - least) / (this.#power - least)) : 0;
      // Marks clients that have a call in flight.
      pen.fillStyle = tone(frame.inFlight[client]! > 0 ? "served" : "line");
      pen.fillRect(client * each, height - 3, Math.max(each - gap, 0.5), 3);
      pen.fillStyle = tone(this.colour);
      pen.fillRect(client * each, (height - 4) * (1 - share), Math.max(each - gap, 0.5), (height - 4) * share);
    });
  }
}

/** A canvas with the screen's resolution and the style sheet's size. */

import { onTheme } from "./theme";

export class Sheet {
  readonly pen: CanvasRenderingContext2D;
  width = 0;
  height = 0;
  readonly #undo: (() => void)[];

  /** Calls `draw` when the size or the theme has changed. */
  constructor(readonly canvas: HTMLCanvasElement, draw: () => void) {
    const pen = canvas.getContext("2d");
    if (!pen) throw new Error("This browser does not support canvas.");
    this.pen = pen;
    const resize = new ResizeObserver(() => {
      this.#fit();
      draw();
    });
    resize.observe(canvas);
    this.#undo = [() => resize.disconnect(), onTheme(draw)];
    this.#fit();
  }

  destroy(): void {
    for (const undo of this.#undo) undo();
  }

  #fit(): void {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const scale = devicePixelRatio || 1;
    [this.width, this.height] = [width, height];
    [this.canvas.width, this.canvas.height] = [Math.round(width * scale), Math.round(height * scale)];
    this.pen.setTransform(scale, 0, 0, scale, 0, 0);
  }
}

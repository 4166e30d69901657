/** The row under a figure: play, step, restart, speed, seed, and how far it is. */

import { clock } from "../plot/number";
import { part } from "./part";

interface Wishes {
  play(): void;
  step(): void;
  restart(): void;
  speed(speed: number): void;
  seed(): void;
}

const FACTORS = [0.1, 0.25, 0.5, 1, 2, 4, 10, 20];

export class Bar {
  readonly #play: HTMLButtonElement;
  readonly #step: HTMLButtonElement;
  readonly #seed: HTMLInputElement;
  readonly #time: HTMLElement;
  readonly #way: HTMLProgressElement;
  #written = "";

  constructor(host: HTMLElement, speed: number, wishes: Wishes) {
    host.innerHTML = `<progress max="1" value="0" aria-hidden="true"></progress>
<button type="button" class="play">Play</button><button type="button" class="step">Step</button><button type="button" class="restart">Restart</button>
<label>Speed <select>${FACTORS.map((factor) => `<option value="${speed * factor}"${factor === 1 ? " selected" : ""}>${says(speed * factor)}</option>`).join("")}</select></label>
<label>Seed <input type="number" name="seed" min="0" max="9007199254740991" step="1" value="1" inputmode="numeric"></label>
<span class="time"></span>`;
    this.#play = part(host, ".play");
    this.#step = part(host, ".step");
    this.#seed = part(host, "input");
    this.#time = part(host, ".time");
    this.#way = part(host, "progress");
    const select = part<HTMLSelectElement>(host, "select");
    this.#play.addEventListener("click", wishes.play);
    this.#step.addEventListener("click", wishes.step);
    part(host, ".restart").addEventListener("click", wishes.restart);
    select.addEventListener("change", () => wishes.speed(Number(select.value)));
    this.#seed.addEventListener("change", wishes.seed);
  }

  get seed(): number {
    const seed = Math.trunc(Number(this.#seed.value));
    return Number.isSafeInteger(seed) && seed >= 0 ? seed : 1;
  }

  show({ runs, over }: { runs: boolean; over: boolean }): void {
    this.#play.textContent = runs ? "Pause" : over ? "Again" : "Play";
    this.#play.classList.toggle("runs", runs);
    this.#step.disabled = over;
  }

  /** How far it is, on the way to an end that is not known where it is `open`. */
  time(now: number, end: number, open = false): void {
    const text = open ? clock(now) : `${clock(now)} of ${clock(end)}`;
    if (text === this.#written) return;
    this.#written = text;
    this.#time.textContent = text;
    this.#way.value = end > 0 ? now / end : 0;
  }
}

const says = (speed: number) => (speed >= 60 ? `${Number((speed / 60).toFixed(1))} min/s` : `${Number(speed.toFixed(4))} s/s`);

/** The bar above the lanes: play, step, restart, and the speed. */

import { clock, number } from "../plot/number";
import { fresh, h, say } from "./dom";
import { pace, type State } from "./state";

export interface Wishes {
  play(): void;
  step(): void;
  finish(): void;
  restart(): void;
  speed(speed: number): void;
}

export interface Standing { now: number; end: number; over: boolean; playing: boolean; behind: boolean; reached: number }

const SPEEDS: [number, string][] = [
  [0, "run in 20 s"], [1, "real time"], [10, "10 s/s"], [60, "1 min/s"], [600, "10 min/s"], [3_600, "1 h/s"], [86_400, "1 d/s"],
];

export class Transport {
  readonly element: HTMLElement;
  readonly #play: HTMLButtonElement;
  readonly #step: HTMLButtonElement;
  readonly #finish: HTMLButtonElement;
  readonly #restart: HTMLButtonElement;
  readonly #speed = h("select", { id: fresh() });
  readonly #way = h("progress", { max: 1, value: 0, "aria-hidden": "true" });
  readonly #time = h("span", { class: "time" });

  constructor(wishes: Wishes) {
    // Buttons are disabled until there are worlds.
    const button = (words: string, press: () => void) => h("button", { type: "button", disabled: true, onclick: press }, words);
    this.#play = button("Play", wishes.play);
    this.#play.classList.add("play");
    this.#step = button("Step", wishes.step);
    this.#finish = button("To end", wishes.finish);
    this.#restart = button("Restart", wishes.restart);
    this.#speed.append(...SPEEDS.map(([value, words]) => h("option", { value }, words)));
    this.#speed.addEventListener("change", () => wishes.speed(Number(this.#speed.value)));
    this.element = h("div", { class: "bar" }, this.#way, this.#play, this.#step, this.#finish,
      this.#restart,
      h("label", { for: this.#speed.id }, "Speed"), this.#speed, this.#time);
  }

  sync({ speed }: State): void {
    if (![...this.#speed.options].some((option) => Number(option.value) === speed)) {
      this.#speed.append(h("option", { value: speed }, `${speed} s/s`));
    }
    this.#speed.value = String(speed);
  }

  show({ now, end, over, playing, behind, reached }: Standing, state: State): void {
    say(this.#play, over ? "Again" : playing ? "Pause" : "Play");
    this.#play.disabled = this.#restart.disabled = false;
    this.#step.disabled = this.#finish.disabled = over;
    this.#way.value = now / end;
    // Says so if the browser does not reach the chosen speed.
    const slow = playing && !behind && reached > 0 && reached < pace(state) * 0.6;
    say(this.#time, `${clock(now)} of ${clock(end)}${behind ? ", catching up" : slow ? ` (this device reaches ${number(reached, 2)} s/s)` : ""}`);
  }
}

/** The controls under a figure: play, step, restart, and the progress. Speed and seed are among the settings. */

import { clock } from "../plot/number";
import { part } from "./part";

interface Actions {
  play(): void;
  step(): void;
  restart(): void;
  speed(speed: number): void;
  share(what: string): void;
}

const FACTORS = [0.1, 0.25, 0.5, 1, 2, 4, 10, 20];

export class Bar {
  readonly #play: HTMLButtonElement;
  readonly #step: HTMLButtonElement;
  readonly #time: HTMLElement;
  readonly #way: HTMLProgressElement;
  #written = "";

  /** `more` holds the settings that few readers need. */
  constructor(host: HTMLElement, more: HTMLElement, speed: number, actions: Actions) {
    host.innerHTML = `<progress max="1" value="0" aria-hidden="true"></progress>
<button type="button" class="play">Play</button><button type="button" class="step">Step</button><button type="button" class="restart">Restart</button><span class="time"></span>`;
    more.insertAdjacentHTML("beforeend", `<label><span>seed</span><input type="number" name="seed" min="0" max="9007199254740991" step="1" value="1" inputmode="numeric" required></label>
<label><span>speed</span><select class="speed">${FACTORS.map((factor) => `<option value="${speed * factor}"${factor === 1 ? " selected" : ""}>${says(speed * factor)}</option>`).join("")}</select></label>
<p class="share"><button type="button">Copy link</button> <button type="button">Copy image</button> <output></output></p>`);
    this.#play = part(host, ".play");
    this.#step = part(host, ".step");
    this.#time = part(host, ".time");
    this.#way = part(host, "progress");
    const select = part<HTMLSelectElement>(more, ".speed");
    this.#play.addEventListener("click", actions.play);
    this.#step.addEventListener("click", actions.step);
    part(host, ".restart").addEventListener("click", actions.restart);
    select.addEventListener("change", () => actions.speed(Number(select.value)));
    // Another speed does not start a new run.
    select.addEventListener("input", (event) => event.stopPropagation());
    part(more, ".share").addEventListener("click", ({ target }) => {
      if (target instanceof HTMLButtonElement) actions.share(target.textContent);
    });
  }

  show({ runs, over, failed }: { runs: boolean; over: boolean; failed: boolean }): void {
    this.#play.textContent = failed ? "Retry" : runs ? "Pause" : over ? "Again" : "Play";
    this.#play.classList.toggle("runs", runs);
    this.#step.disabled = over || failed;
  }

  /** Shows the progress. With `open`, the run may end before `end`. */
  time(now: number, end: number, open = false): void {
    const text = open ? clock(now) : `${clock(now)} of ${clock(end)}`;
    if (text === this.#written) return;
    this.#written = text;
    this.#time.textContent = text;
    this.#way.value = end > 0 ? now / end : 0;
  }
}

const says = (speed: number) => (speed >= 60 ? `${Number((speed / 60).toFixed(1))} min/s` : `${Number(speed.toFixed(4))} s/s`);

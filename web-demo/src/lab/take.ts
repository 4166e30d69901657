/** Export and import: links, files, code that uses a law, and scenarios of others. */

import { download } from "../plot/download";
import { fresh, h, say } from "./dom";
import { reason } from "./fields";
import type { Race } from "./race";
import { command, csv, fileName, picture } from "./save";
import { snippet } from "./snippet";
import { write, type State } from "./state";
import type { Card } from "./view";
import { title } from "./words";

interface Present { state: State; race: Race; cards: Card[] }

export class Take {
  readonly element: HTMLElement;
  readonly #done = h("p", { class: "done", role: "status" });
  readonly #toml = h("pre", { class: "file", tabindex: 0, role: "region", "aria-label": "The scenario as a file" });
  readonly #command = h("pre", { class: "file", tabindex: 0, role: "region", "aria-label": "The command that runs it" });
  readonly #law = h("select", { id: fresh() });
  readonly #snippet = h("pre", { class: "file", tabindex: 0, role: "region", "aria-label": "The law in a program" });
  readonly #text = h("textarea", { id: fresh(), rows: 8, spellcheck: "false", placeholder: "end = \"10min\"\n\n[server.bucket]\n…" });
  readonly #fault = h("p", { class: "fault", role: "alert" });

  /** `link` throws if the state is too long for a link, and `bring` if a text is not a scenario file. */
  constructor(present: () => Present, link: () => Promise<string>, readonly bring: (text: string) => Promise<void>) {
    const button = (label: string, press: () => unknown) => h("button", { type: "button", onclick: () => void this.#attempt(press) }, label);
    const file = (name: string, type: string, content: BlobPart) => download(name, new Blob([content], { type }));
    const image = () => {
      const { state, race, cards } = present();
      return picture(cards, state.scenario.title || title(state.scenario), race.now);
    };
    const open = h("input", { type: "file", accept: ".toml", id: fresh() });
    open.addEventListener("change", async () => {
      const chosen = open.files?.[0];
      if (!chosen) return;
      this.#text.value = await chosen.text();
      open.value = "";
      void this.#bring();
    });
    this.#law.addEventListener("change", () => say(this.#snippet, snippet(this.#law.value, present().state.scenario.laws)));
    this.element = h("div", { class: "take" },
      h("h3", {}, "Export and share"),
      h("p", { class: "buttons" },
        button("Copy the link", async () => this.#copy(await link(), "The link is copied.")),
        button("Save the scenario (TOML)", () => file(`${fileName(present().state)}.toml`, "application/toml", write(present().state.scenario))),
        button("Save the numbers (CSV)", () => file(`${fileName(present().state)}.csv`, "text/csv", csv(present().race.lanes))),
        button("Save the plots (PNG)", async () => download(`${fileName(present().state)}.png`, await image())),
        button("Copy the plots", async () => {
          await navigator.clipboard.write([new ClipboardItem({ "image/png": await image() })]);
          say(this.#done, "The plots are copied.");
        })),
      this.#done,
      h("details", {}, h("summary", {}, "The scenario as a file, and how to run it"), this.#command, this.#toml,
        h("p", { class: "buttons" },
          button("Copy the scenario", () => this.#copy(this.#toml.textContent ?? "", "The scenario is copied.")),
          button("Copy the command", () => this.#copy(this.#command.textContent ?? "", "The command is copied.")))),
      h("details", {}, h("summary", {}, "Use a law in your program"),
        h("p", { class: "buttons" }, h("label", { for: this.#law.id }, "Law "), this.#law, button("Copy the lines", () => this.#copy(this.#snippet.textContent ?? "", "The lines are copied."))),
        this.#snippet),
      h("details", {}, h("summary", {}, "Import a scenario"),
        h("label", { for: this.#text.id }, "Paste a scenario file, or open one"), this.#text,
        h("p", { class: "buttons" }, h("button", { type: "button", onclick: () => void this.#bring() }, "Run it"),
          h("label", { for: open.id, class: "sr" }, "A scenario file"), open),
        this.#fault));
  }

  sync(state: State): void {
    say(this.#toml, write(state.scenario));
    say(this.#command, command(state));
    const laws = state.laws.join();
    if (this.#law.dataset.laws === laws) return say(this.#snippet, snippet(this.#law.value, state.scenario.laws));
    const before = this.#law.value;
    this.#law.dataset.laws = laws;
    this.#law.replaceChildren(...state.laws.map((law) => h("option", {}, law)));
    this.#law.value = state.laws.includes(before) ? before : state.laws.includes("adaptive") ? "adaptive" : state.laws[0]!;
    say(this.#snippet, snippet(this.#law.value, state.scenario.laws));
  }

  async #copy(text: string, done: string): Promise<void> {
    await navigator.clipboard.writeText(text);
    say(this.#done, done);
  }

  async #attempt(press: () => unknown): Promise<void> {
    try {
      say(this.#done, "");
      await press();
    } catch (error) {
      say(this.#done, `That did not work: ${reason(error)}.`);
    }
  }

  async #bring(): Promise<void> {
    try {
      await this.bring(this.#text.value);
      say(this.#fault, "");
    } catch (error) {
      say(this.#fault, `${reason(error)}.`);
    }
  }
}

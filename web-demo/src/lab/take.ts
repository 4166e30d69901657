/** Export and import: links, files, numbers, and scenarios of others. */

import { download } from "../plot/download";
import { fresh, h, say } from "./dom";
import { reason } from "./fields";
import type { Lane } from "./lane";
import { NO_GATE } from "./laws";
import type { State } from "./state";

interface Present { state: State; lanes: Lane[] }

export class Take {
  readonly element: HTMLElement;
  readonly #done = h("p", { class: "done", role: "status" });
  readonly #toml = pre("The scenario as a file");
  readonly #command = pre("The command that runs it");
  readonly #text = h("textarea", { id: fresh(), rows: 8, spellcheck: "false", placeholder: "end = \"10min\"\n\n[server.bucket]\n…" });
  readonly #fault = h("p", { class: "fault", role: "alert" });

  /** `link` throws if the state is too long for a link, and `bring` if a text is not a scenario file. */
  constructor(present: () => Present, link: () => Promise<string>, readonly bring: (text: string) => Promise<void>) {
    const button = (label: string, press: () => unknown) => h("button", { type: "button", onclick: () => void this.#attempt(press) }, label);
    const save = (ending: string, type: string, content: string) => download(`${fileName(present().state)}.${ending}`, new Blob([content], { type }));
    this.element = h("div", { class: "take" },
      h("h2", {}, "Export and share"),
      h("p", { class: "buttons" },
        button("Copy the link", async () => this.#copy(await link(), "The link is copied.")),
        button("Save the scenario (TOML)", () => save("toml", "application/toml", this.#file())),
        button("Save the numbers (CSV)", () => save("csv", "text/csv", csv(present().lanes)))),
      this.#done,
      h("details", {}, h("summary", {}, "The scenario as a file, and how to run it"), this.#command, this.#toml,
        h("p", { class: "buttons" },
          button("Copy the scenario", () => this.#copy(this.#file(), "The scenario is copied.")),
          button("Copy the command", () => this.#copy(this.#command.textContent, "The command is copied.")))),
      h("details", {}, h("summary", {}, "Import a scenario"),
        h("label", { for: this.#text.id }, "Paste a scenario file"), this.#text,
        h("p", { class: "buttons" }, h("button", { type: "button", onclick: () => void this.#bring() }, "Run it")),
        this.#fault));
  }

  /** Shows a state and its file. */
  sync(state: State, file: string): void {
    say(this.#toml, file);
    say(this.#command, command(state));
  }

  /** The state's file. Throws if the state is invalid. */
  #file(): string {
    if (!this.#toml.textContent) throw new Error("the scenario has a fault, which is shown above the plots");
    return this.#toml.textContent;
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
      say(this.#done, `That has failed: ${reason(error)}.`);
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

const pre = (label: string) => h("pre", { class: "file", tabindex: 0, role: "region", "aria-label": label });

/** The base name of a state's files. */
const fileName = ({ base }: State): string => base || "tidegate-lab";

/** The command that runs the same state. */
function command(state: State): string {
  const laws = state.laws.filter((law) => law !== NO_GATE);
  const run = `cargo run --release -p tidegate-sim -- run ${fileName(state)}.toml --law ${laws.join() || "none"} --seeds ${state.seed}`;
  return laws.length < state.laws.length ? `${run}\n# ${NO_GATE} is the law none with a file that has no [server.hints]` : run;
}

/** One line per bin and law. A law's served and throttled calls over all bins add up to its metric `calls`. */
function csv(lanes: Lane[]): string {
  const lines = ["law,from_s,served,throttled,sent,mean_wait_s"];
  for (const { law, bins, world } of lanes) {
    bins.served.forEach((served, index) => {
      const from = Math.round(index * world.bin * 1e6) / 1e6;
      const left = bins.left[index]!;
      lines.push(`${law},${from},${served},${bins.throttled[index]!},${left},${left > 0 ? bins.waited[index]! / left : ""}`);
    });
  }
  return lines.join("\n") + "\n";
}

import storyWasm from "../../target/page/story.wasm?url";
import "./style/tokens.css";
import "./style/page.css";
import "./style/search.css";
import { Search } from "./figure/search";
import { LAWS, type Exports } from "./figure/story";
import { themeSwitch } from "./plot/theme";

themeSwitch(document.getElementById("theme")!);

const host = document.getElementById("search")!;

/** Starts the figure. If its module cannot be loaded, says so and offers to try again. */
async function start(): Promise<void> {
  try {
    const response = await fetch(storyWasm);
    if (!response.ok) throw new Error(`the server answers ${response.status}`);
    const { instance } = await WebAssembly.instantiate(await response.arrayBuffer());
    const exports = instance.exports as unknown as Exports;
    // Browsers compile a function at its first call: one law at a time, so that no task is long.
    for (const law of LAWS.keys()) {
      const world = exports.open(law, 1, 1, 100);
      for (let bin = 0; bin < 5; bin++) exports.advance(world);
      await new Promise((done) => setTimeout(done));
    }
    new Search(host, exports, (error) => fail("The figure has stopped", error, () => location.reload()));
  } catch (error) {
    fail("The figure cannot be loaded", error, () => void start());
  }
}

/** Says what went wrong, and offers to try again. */
function fail(what: string, error: unknown, again: () => void): void {
  host.querySelector(".failed")?.remove();
  const [note, retry] = [document.createElement("p"), document.createElement("button")];
  note.className = "failed";
  note.setAttribute("role", "alert");
  note.textContent = `${what}: ${error instanceof Error ? error.message : String(error)}. `;
  [retry.type, retry.textContent] = ["button", "Retry"];
  retry.addEventListener("click", () => { note.remove(); again(); });
  note.append(retry);
  host.querySelector("figure")!.append(note);
}

void start();

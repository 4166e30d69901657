/** The live section: the reader's own calls to the real server, beside the demo's fleet. */

import "./live.css";
import { View } from "./view";

/** A demo that serves the page says so in its head; so nobody has to be asked who is not there. */
const served = document.querySelector("meta[name=tidegate-live]") !== null;

/** Fills the live section. */
export function mount(host: HTMLElement): void {
  if (served) {
    new View(host);
    return;
  }
  host.innerHTML = `<p class="note">There is no server behind this copy of the page: run <code>cargo xtask demo</code>
in the repository, and open the page that it prints.</p>`;
}

/** The live section: the reader's own calls to the real server, beside the demo's fleet. */

import "./live.css";
import { View } from "./view";

/** Fills the live section. */
export function mount(host: HTMLElement): void {
  new View(host);
}

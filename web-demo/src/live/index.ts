/** The live section: the reader's own calls to the real server, and the demo's fleet. */

import "./live.css";
import { View } from "./view";

export function mount(host: HTMLElement): void {
  new View(host);
}

// A fleet of tabs in a real Chromium that share one budget, and a real API.

import { EventEmitter } from "node:events";
import { ProcessFleet } from "./process-fleet.mjs";
import { Browser } from "./tabs-browser.mjs";

/** Six tabs of one window, all but one of which are hidden. */
export class TabFleet extends ProcessFleet {
  static limit = 10;
  cells = Array.from({ length: 6 }, (_, member) => [member]);
  /** Tabs that are neither frozen nor closed. */
  live = new Set(this.cells.flat());
  #browser = new Browser();
  #tabs = [];
  #frozen;

  async start() {
    await this.#browser.start('import "./tabs-member.mjs";');
    await super.start();
  }

  begin(told) {
    const events = new EventEmitter();
    const opened = this.#browser.open(JSON.stringify(told));
    void opened.then((tab) => {
      this.#tabs[told.member] = tab;
      for (const name of ["message", "exit"]) tab.on(name, (what) => events.emit(name, what));
    });
    return Object.assign(events, {
      // A closed tab receives nothing.
      send: async (what) => (await opened).run(`hear(${JSON.stringify(what)}), 0`).catch(() => {}),
      kill: async () => (await opened).close(),
    });
  }

  async freeze(member) {
    this.#frozen = member;
    this.live.delete(member);
    await this.#tabs[member].freeze(true);
  }

  async thaw() {
    this.live.add(this.#frozen);
    await this.#tabs[this.#frozen].freeze(false);
  }

  /** Closes a tab with its leases and its calls. */
  async crash(member) {
    this.live.delete(member);
    await super.crash(member);
  }

  async dispose() {
    await this.#browser.close();
  }
}

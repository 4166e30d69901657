import "./style/tokens.css";
import "./style/page.css";
import "./style/figure.css";
import { hammer } from "./figure/hammer";
import { Stage, type Act } from "./figure/stage";
import { near } from "./near";
import { themeSwitch } from "./plot/theme";

const button = document.getElementById("theme");
if (button) themeSwitch(button);

/** The figures by their ids. All but the first load when they come near the view. */
const FIGURES: Record<string, () => Promise<(host: HTMLElement) => Act>> = {
  hammer: async () => hammer,
  backoff: async () => (await import("./figure/backoff")).backoff,
  limit: async () => (await import("./figure/limit")).limit,
  busy: async () => (await import("./figure/busy")).busy,
};

for (const [id, figure] of Object.entries(FIGURES)) near(id, async (host) => new Stage(host, (await figure())(host)));
near("lab", async (host) => (await import("./lab")).mount(host));
// A demo marks the page that it serves in its head, so that the page does not look for one on other hosts.
if (document.querySelector("meta[name=tidegate-live]")) near("live", async (host) => new (await import("./live/view")).View(host));

import "./style/tokens.css";
import "./style/page.css";
import "./style/figure.css";
import { FIGURES } from "./figure";
import { Stage } from "./figure/stage";
import { near } from "./near";
import { themeSwitch } from "./plot/theme";

const button = document.getElementById("theme");
if (button) themeSwitch(button);

for (const [id, figure] of Object.entries(FIGURES)) near(id, async (host) => new Stage(host, (await figure())(host)));
near("lab", async (host) => (await import("./lab")).mount(host));
// A demo marks the page that it serves in its head, so that the page does not look for one on other hosts.
if (document.querySelector("meta[name=tidegate-live]")) near("live", async (host) => (await import("./live")).mount(host));

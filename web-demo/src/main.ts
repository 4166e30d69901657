import "./style/page.css";
import { near } from "./near";

near("lab", async (host) => (await import("./lab")).mount(host));
near("live", async (host) => (await import("./live")).mount(host));

// One tab of a fleet.

import { tidegate } from "tidegate/tabs";
import { play } from "./fleet-member.mjs";

const port = {
  told: JSON.parse(decodeURIComponent(location.hash.slice(1))),
  number: Math.floor(performance.timeOrigin),
  tell: (what) => globalThis.tell(what),
  listen: (hear) => (globalThis.hear = hear),
};

play(port, tidegate, () => {});

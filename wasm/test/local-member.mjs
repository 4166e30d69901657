// One process of a fleet that shares a budget on one machine.

import { tidegate } from "tidegate/local";
import { play } from "./fleet-member.mjs";
import { end, port } from "./process-member.mjs";

play(port, (options) => tidegate({ folder: port.told.folder, ...options }), end);

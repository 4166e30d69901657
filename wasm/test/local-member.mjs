// One process of a fleet that shares a budget on one machine.

import { tidegate } from "tidegate/local";
import { play, told } from "./fleet-member.mjs";

play((options) => tidegate({ folder: told.folder, ...options }));

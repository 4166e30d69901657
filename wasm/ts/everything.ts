/** The parts of `tidegate/full`. */

import { bodies } from "./bodies.js";
import { costs } from "./costs.js";
import { counts } from "./counts.js";
import type { Parts } from "./gate.js";
import { several } from "./layers.js";
import { snapshots } from "./snapshot.js";
import { warner } from "./warnings.js";

export const everything: Parts = { costs, bodies, warner, several, more: (inside) => ({ ...counts(inside, several), ...snapshots(inside) }) };

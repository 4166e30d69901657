/** The parts of the main entry. */

import { bodies } from "./bodies.js";
import { costs } from "./costs.js";
import { counts } from "./counts.js";
import type { Parts } from "./gate.js";
import { warner } from "./warnings.js";

export const whole: Parts = { costs, bodies, warner, more: (inside) => counts(inside) };

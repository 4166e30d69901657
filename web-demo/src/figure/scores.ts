/** The two numbers of a client: calls wasted, and the share of the limit that it used. Neither says enough alone. */

import { grouped } from "../plot/number";

export interface Score { wasted: number; used: number }

export const percent = (share: number): string => `${Math.round(100 * share)} %`;

/** Beside a client's name. */
export const short = ({ wasted, used }: Score): string => `<span>${percent(used)} used,</span> <span>${grouped(wasted)} wasted</span>`;

/** Below the picture. */
export const long = ({ wasted, used }: Score): string =>
  `<b class="bad">${grouped(wasted)}</b> calls wasted, <b>${percent(used)}</b> of the limit used since the start`;

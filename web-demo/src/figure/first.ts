/** The figure before the page's script runs, and without it: the end of the default story. */

import { TALL, crosses, dot, lines, notes, type Point, type View } from "./picture";
import { long, short } from "./scores";
import { DEFAULT, LAWS, SPAN, Story, type Exports } from "./story";

/** The size for which words are placed: the plot on a screen of 1280 by 720. */
const SIZE = { wide: 666, tall: 452 };

/** The picture as SVG. Its lines stretch with it. */
export function picture(view: View): string {
  const paths = lines(view, 0, SPAN + 1).map(([[style, above], d]) => (above
    ? `<path id="mine" fill="none" vector-effect="non-scaling-stroke" d="${d}"/><use class="${style}" href="#mine"/><use class="${above}" href="#mine"/>`
    : `<path class="${style}" d="${d}"/>`));
  const x = ([bin]: Point) => `${+(100 * bin / SPAN).toFixed(1)}%`;
  const y = ([, rate]: Point) => `${+(100 - 100 * Math.min(1.02, rate / view.top)).toFixed(1)}%`;
  const bad = crosses(view, 0);
  const last = dot(view);
  const [still, moving] = notes(view);
  return `<div class="lines"><svg viewBox="0 0 ${SPAN} ${TALL}" preserveAspectRatio="none">${paths.join("")}</svg></div><svg>`
    + `<text class="x" x="${bad.map(x).join(" ")}" y="${bad.map(y).join(" ")}">${"✕".repeat(bad.length)}</text>`
    + (last ? `<circle class="dot" cx="${x(last)}" cy="${y(last)}" r="4"/>` : "") + `${still}</svg><div class="moving"><svg>${moving}</svg></div>`;
}

/** Replaces the comments of the figure in the page by what a run of the module shows. */
export function first(html: string, exports: Exports): string {
  const { seed, limits } = DEFAULT;
  const story = new Story(exports, 1, seed, limits);
  story.run(SPAN);
  const step = LAWS.length - 1;
  const ghosts = [...LAWS.keys()].filter((law) => law !== step);
  const parts: Record<string, string> = {
    picture: picture({ story, step, now: SPAN, ghosts, top: 260, slack: 4, ...SIZE }),
    long: long(story.score(step, SPAN)),
    ...Object.fromEntries(LAWS.map((_, law) => [`short ${law}`, short(story.score(law, SPAN))])),
  };
  return html.replace(/<!-- first (.*?) -->/g, (_, name: string) => parts[name]!);
}

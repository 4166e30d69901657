/** The figure before the page's script runs, and without it: the end of the default story. */

import { TALL, crosses, dot, lines, notes, type Place, type Point, type View } from "./picture";
import { long, short } from "./scores";
import { DEFAULT, LAWS, SPAN, Story, type Exports } from "./story";

/** The size for which words are placed: the plot on a screen of 1280 by 720. */
const SIZE = { wide: 666, tall: 452 };

/** Leaves out points that are within a few thousandths of the line between others. */
function thin(points: Place[], style: string): Place[] {
  const slack = style === "ghost" ? 20 : 8;
  const [first, last] = [points[0], points.at(-1)];
  if (!first || !last) return points;
  const kept = [first];
  let [[x, y], before, low, high] = [first, first, -Infinity, Infinity];
  for (const point of points.slice(1)) {
    const slope = (point[1] - y) / (point[0] - x);
    if (slope < low || slope > high) {
      kept.push(before);
      [[x, y], low, high] = [before, -Infinity, Infinity];
    }
    low = Math.max(low, (point[1] - slack - y) / (point[0] - x));
    high = Math.min(high, (point[1] + slack - y) / (point[0] - x));
    before = point;
  }
  return [...kept, last];
}

/** The picture as SVG. Its lines stretch with it. */
export function picture(view: View): string {
  const paths = lines({ ...view, thin }, 0, SPAN + 1).map(([[style, above], d]) => (above
    ? `<path id="mine" fill="none" vector-effect="non-scaling-stroke" d="${d}"/><use class="${style}" href="#mine"/><use class="${above}" href="#mine"/>`
    : `<path class="${style}" d="${d}"/>`));
  const x = ([bin]: Point) => `${+(100 * bin / SPAN).toFixed(1)}%`;
  const y = ([, rate]: Point) => `${Math.round(1000 - 1000 * Math.min(1.02, rate / view.top)) / 10}%`;
  const [bad, [still, moving]] = [crosses(view, 0), notes(view)];
  return `<div class="lines"><svg viewBox="0 0 ${SPAN} ${TALL}" preserveAspectRatio="none">${paths.join("")}</svg></div><svg>`
    + `<text class="x" x="${bad.map(x).join(" ")}" y="${bad.map(y).join(" ")}">${"✕".repeat(bad.length)}</text>`
    + dot(view).map((last) => `<circle class="dot" cx="${x(last)}" cy="${y(last)}" r="4"/>`).join("") + `${still}</svg><div class="moving"><svg>${moving}</svg></div>`;
}

/** Replaces the comments of the figure in the page by what a run of the module shows. */
export function first(html: string, exports: Exports): string {
  const { seed, limits } = DEFAULT;
  const story = new Story(exports, 1, seed, limits);
  story.run(SPAN);
  const step = LAWS.length - 1;
  const ghosts = [...LAWS.keys()].filter((law) => law !== step);
  const parts: Record<string, string> = {
    picture: picture({ story, step, now: SPAN, ghosts, top: 260, ...SIZE }),
    long: long(story.score(step, SPAN)),
    ...Object.fromEntries(LAWS.map((_, law) => [`short ${law}`, short(story.score(law, SPAN))])),
  };
  return html.replace(/<!-- first (.*?) -->/g, (_, name: string) => parts[name]!);
}

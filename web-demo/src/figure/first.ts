/** The figure before the page's script runs, and without it: the end of the default story. */

import { picture } from "./picture";
import { long, short } from "./scores";
import { DEFAULT, LAWS, SPAN, Story, type Exports } from "./story";

/** The size for which words are placed: the plot on a screen of 1280 by 720. */
const SIZE = { wide: 666, tall: 452 };

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

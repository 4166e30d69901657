/** The figures of the story, by their ids in the page. All but the first load when they come near the view. */

import { hammer } from "./hammer";
import type { Act } from "./stage";

type Figure = (host: HTMLElement) => Act;

export const FIGURES: Record<string, () => Promise<Figure>> = {
  hammer: async () => hammer,
  backoff: async () => (await import("./backoff")).backoff,
  limit: async () => (await import("./limit")).limit,
  busy: async () => (await import("./busy")).busy,
};

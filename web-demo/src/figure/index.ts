/** The figures of the story, by the ids that they have in the page. All but the first come when they are near. */

import { hammer } from "./hammer";
import type { Act } from "./stage";

type Figure = (host: HTMLElement) => Act;

export const FIGURES: Record<string, () => Promise<Figure>> = {
  hammer: async () => hammer,
  backoff: async () => (await import("./backoff")).backoff,
  limit: async () => (await import("./limit")).limit,
  busy: async () => (await import("./busy")).busy,
};

/** The figures of the story, by the ids that they have in the page. Each comes when it is near. */

import type { Act } from "./stage";

type Figure = (host: HTMLElement) => Act;

export const FIGURES: Record<string, () => Promise<Figure>> = {
  hammer: async () => (await import("./hammer")).hammer,
  backoff: async () => (await import("./backoff")).backoff,
  delay: async () => (await import("./delay")).delay,
  limit: async () => (await import("./limit")).limit,
  busy: async () => (await import("./busy")).busy,
  tiers: async () => (await import("./tiers")).tiers,
};

/** Colours for canvases: the page's tokens, read once for each theme. */

export type Tone = "ink" | "soft" | "line" | "paper" | "raised" | "served" | "throttled"
  | "s1" | "s2" | "s3" | "s4" | "s5" | "s6";

let rem = 0;
let seen: Partial<Record<Tone, string>> = {};
const watchers = new Set<() => void>();
const root = document.documentElement;

/** The colour of a token in the present theme. A property of the root resolves it. */
export function tone(name: Tone): string {
  if (seen[name]) return seen[name];
  root.style.caretColor = `var(--${name})`;
  seen[name] = getComputedStyle(root).caretColor;
  root.style.caretColor = "";
  return seen[name];
}

/** Calls `then` after each change of theme. Returns a function that stops this. */
export function onTheme(then: () => void): () => void {
  watchers.add(then);
  return () => void watchers.delete(then);
}

/** Text on canvases has the reader's text size. */
export const font = (size = 0.75) => `${size * (rem ||= parseFloat(getComputedStyle(root).fontSize))}px system-ui, sans-serif`;

function changed(): void {
  [seen, rem] = [{}, 0];
  for (const then of watchers) then();
}

const dark = matchMedia("(prefers-color-scheme: dark)");
dark.addEventListener("change", changed);

/** Makes `button` switch between light and dark. Until it is used, the system decides. */
export function themeSwitch(button: HTMLElement): void {
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);
  const show = () => button.setAttribute("aria-pressed", String(isDark()));
  try {
    const kept = localStorage.getItem("theme");
    if (kept) root.dataset.theme = kept;
  } catch { /* Without storage, the choice is lost on reload. */ }
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("theme", root.dataset.theme); } catch { /* as above */ }
    changed();
  });
  onTheme(show);
  show();
}

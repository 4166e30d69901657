/** Helpers for elements. */

type Child = Node | string | null | false;
type Attributes = Record<string, string | number | boolean | EventListener | undefined>;

/** An element: attributes by name, listeners by `onNAME`; `false` and `undefined` are left out. */
export function h<K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Attributes = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (value !== false && value !== undefined) element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child): child is Node | string => typeof child === "string" || child instanceof Node));
  return element;
}

let last = 0;

/** A unique id. */
export const fresh = (): string => `lab-${++last}`;

/** Sets a text only if it differs, so that unchanged text costs nothing and is announced once. */
export function say(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

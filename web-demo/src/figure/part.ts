/** A part of a figure that stands in the page. */
export function part<T extends HTMLElement>(host: ParentNode, selector: string): T {
  const found = host.querySelector<T>(selector);
  if (!found) throw new Error(`The page has no ${selector} here.`);
  return found;
}

/** An element of a figure in the page. Throws if it is missing. */
export function part<T extends HTMLElement>(host: ParentNode, selector: string): T {
  const found = host.querySelector<T>(selector);
  if (!found) throw new Error(`The page has no ${selector} here.`);
  return found;
}

/** A plot's numbers as text, for screen readers and for copying. */

export interface Table {
  /** The columns' names, with units. */
  head: string[];
  rows: (string | number)[][];
}

/**
 * Fills `details` with `table` while it is open: at once, then at most once a second when the
 * returned function is called.
 */
export function textTable(details: HTMLDetailsElement, table: () => Table): () => void {
  const host = document.createElement("div");
  host.className = "scroll";
  host.tabIndex = 0;
  host.setAttribute("role", "region");
  host.setAttribute("aria-label", details.querySelector("summary")?.textContent ?? "Table");
  details.append(host);
  let timer = 0;
  const fill = () => {
    timer = 0;
    if (details.open) host.replaceChildren(build(table()));
  };
  details.addEventListener("toggle", fill);
  return () => {
    if (details.open && !timer) timer = window.setTimeout(fill, host.firstChild ? 1000 : 0);
  };
}

export function build({ head, rows }: Table): HTMLTableElement {
  const table = document.createElement("table");
  const top = table.createTHead().insertRow();
  for (const text of head) {
    const cell = document.createElement("th");
    cell.scope = "col";
    cell.textContent = text;
    top.append(cell);
  }
  const body = table.createTBody();
  for (const row of rows) {
    const line = body.insertRow();
    row.forEach((value, column) => {
      const cell = document.createElement(column ? "td" : "th");
      if (!column) cell.scope = "row";
      cell.textContent = String(value);
      line.append(cell);
    });
  }
  return table;
}

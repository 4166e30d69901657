/**
 * The settings of a figure in the address: `?hammer=clients:7,rate:20#hammer` has what differs from the
 * page's own. This comes when the reader changes something, or comes by such an address.
 */

import { address, said } from "../address";

type Field = HTMLInputElement | HTMLSelectElement;

export const link = (id: string, form: HTMLFormElement): string => address((key) => key === id, settings(form) ? [[id, settings(form)]] : [], id);

/** Notes the settings as a new entry of the history, which the reader can go back from. */
export function remember(id: string, form: HTMLFormElement): void {
  if (settings(form) !== said(id)) history.pushState(null, "", link(id, form));
}

/** Sets what the address says, and tells the form; what it does not say, or cannot be, is as usual. */
export function recall(id: string, form: HTMLFormElement): void {
  const before = settings(form);
  form.reset();
  for (const [name = "", value = ""] of said(id).split(",").map((pair) => pair.split(":"))) {
    const field = form.elements.namedItem(name);
    if (field instanceof HTMLSelectElement) {
      if ([...field.options].some((option) => option.value === value)) field.value = value;
    } else if (field instanceof HTMLInputElement) {
      if (field.type === "checkbox") field.checked = value === "true";
      else if (value !== "" && Number.isFinite(Number(value))) field.value = value;
      if (!field.checkValidity()) field.value = field.defaultValue;
    }
  }
  if (settings(form) !== before) form.dispatchEvent(new Event("input"));
}

/** What differs from the page's own settings: `clients:7,rate:20`. */
function settings(form: HTMLFormElement): string {
  const fields = [...form.elements].filter((field): field is Field => "name" in field && field.name !== "" && "value" in field);
  return fields.filter((field) => now(field) !== usual(field)).map((field) => `${field.name}:${now(field)}`).join();
}

const now = (field: Field) => (field.type === "checkbox" ? String((field as HTMLInputElement).checked) : field.value);

function usual(field: Field): string {
  if (field instanceof HTMLSelectElement) return ([...field.options].find((option) => option.defaultSelected) ?? field.options[0]!).value;
  return field.type === "checkbox" ? String(field.defaultChecked) : field.defaultValue;
}

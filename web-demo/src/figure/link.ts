/**
 * A figure's settings in the address: `?hammer=clients:7,rate:20#hammer` contains what differs from
 * the defaults. The module loads when the reader changes a setting, or follows such a link.
 */

import { address, said } from "../address";

type Field = HTMLInputElement | HTMLSelectElement;

export const link = (id: string, form: HTMLFormElement): string => address((key) => key === id, settings(form) ? [[id, settings(form)]] : [], id);

/** Adds the settings to the history, so that the reader can go back. */
export function remember(id: string, form: HTMLFormElement): void {
  if (settings(form) !== said(id)) history.pushState(null, "", link(id, form));
}

/** Applies the settings of the address and informs the form. Missing and invalid ones get their defaults. */
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

/** The settings that differ from the defaults: `clients:7,rate:20`. */
function settings(form: HTMLFormElement): string {
  const fields = [...form.elements].filter((field): field is Field => "name" in field && field.name !== "" && "value" in field);
  return fields.filter((field) => now(field) !== usual(field)).map((field) => `${field.name}:${now(field)}`).join();
}

const now = (field: Field) => (field.type === "checkbox" ? String((field as HTMLInputElement).checked) : field.value);

function usual(field: Field): string {
  if (field instanceof HTMLSelectElement) return ([...field.options].find((option) => option.defaultSelected) ?? field.options[0]!).value;
  return field.type === "checkbox" ? String(field.defaultChecked) : field.defaultValue;
}

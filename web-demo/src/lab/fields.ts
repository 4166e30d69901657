/**
 * Controls that show and change a part of the state. Each is built once and follows the state
 * through `sync`, which leaves the control alone while the reader types.
 */

import { fresh, h } from "./dom";
import { Fault, PERIODS, decimal, perSecond, type Per, type Rate, type Time } from "./units";

export interface Field<S> {
  element: HTMLElement;
  sync(state: S): void;
}

/** Requests another state. */
export type Change<S> = (change: (state: S) => S) => void;

interface Lens<S, T> { get(state: S): T; set(state: S, value: T): S }

interface Bounds { least?: number; most?: number; step?: number | "any" }

export function number<S>(label: string, change: Change<S>, { get, set }: Lens<S, number>, { least = 0, most = 1e9, step = 1 }: Bounds = {}, unit = ""): Field<S> {
  const input = h("input", { type: "number", min: least, max: most, step, inputmode: "decimal", id: fresh(), autocomplete: "off" });
  input.addEventListener("input", () => {
    if (input.value !== "" && input.checkValidity()) change((state) => set(state, input.valueAsNumber));
  });
  const element = labelled(label, input, unit);
  return { element, sync: (state) => write(input, decimal(get(state))) };
}

/** A number, or nothing. */
export function optional<S>(label: string, change: Change<S>, { get, set }: Lens<S, number | null>, bounds: Bounds, placeholder: string): Field<S> {
  const { least = 0, most = 1e9, step = 1 } = bounds;
  const input = h("input", { type: "number", min: least, max: most, step, inputmode: "decimal", id: fresh(), placeholder, autocomplete: "off" });
  input.addEventListener("input", () => {
    if (input.checkValidity()) change((state) => set(state, input.value === "" ? null : input.valueAsNumber));
  });
  return {
    element: labelled(label, input),
    sync: (state) => { const value = get(state); write(input, value === null ? "" : decimal(value)); },
  };
}

export function choice<S, T extends string>(label: string, change: Change<S>, { get, set }: Lens<S, T>, options: readonly (readonly [T, string])[]): Field<S> {
  const select = h("select", { id: fresh() }, ...options.map(([value, words]) => h("option", { value }, words)));
  select.addEventListener("change", () => change((state) => set(state, select.value as T)));
  return { element: labelled(label, select), sync: (state) => { select.value = get(state); } };
}

export function flag<S>(label: string, change: Change<S>, { get, set }: Lens<S, boolean>): Field<S> {
  const input = h("input", { type: "checkbox", id: fresh() });
  input.addEventListener("change", () => change((state) => set(state, input.checked)));
  return { element: h("label", { class: "check", for: input.id }, input, label), sync: (state) => { input.checked = get(state); } };
}

const TIME_UNITS: [string, Time][] = [["ms", 1_000], ["s", PERIODS.s], ["min", PERIODS.min], ["h", PERIODS.h]];

interface TimeBounds { least?: Time; most?: Time; empty?: string }

/** A time as a number and a unit. If it is optional, an empty field means none. */
export function time<S>(label: string, change: Change<S>, { get, set }: Lens<S, Time | null>, { least = 0, most = 3650 * PERIODS.d, empty }: TimeBounds = {}): Field<S> {
  const input = h("input", { type: "number", min: 0, step: "any", inputmode: "decimal", id: fresh(), placeholder: empty ?? "", autocomplete: "off" });
  const unit = h("select", { "aria-label": `${label}: unit` }, ...TIME_UNITS.map(([name]) => h("option", { selected: name === "s" }, name)));
  const size = () => TIME_UNITS.find(([name]) => name === unit.value)![1];
  const entered = () => {
    if (input.value === "" && empty !== undefined) return change((state) => set(state, null));
    const value = Math.round(input.valueAsNumber * size());
    const fits = value >= least && value <= most;
    input.setCustomValidity(fits ? "" : "This time is too short or too long here.");
    if (fits) change((state) => set(state, value));
  };
  input.addEventListener("input", entered);
  unit.addEventListener("change", entered);
  return {
    element: pair(label, input, unit),
    sync: (state) => {
      const value = get(state);
      unit.disabled = value === null;
      if (busy(input) || busy(unit)) return;
      input.setCustomValidity("");
      if (value === null) { input.value = ""; return; }
      const [name, size] = [...TIME_UNITS].reverse().find(([, size]) => value >= size && (value / size) % 0.5 === 0) ?? (value < 1_000 && value > 0 ? TIME_UNITS[0]! : TIME_UNITS[1]!);
      unit.value = name;
      input.value = decimal(value / size);
    },
  };
}

const RATE_UNITS: [Per, string][] = [["s", "/ s"], ["min", "/ min"], ["h", "/ h"], ["d", "/ day"]];

export function rate<S>(label: string, change: Change<S>, { get, set }: Lens<S, Rate | null>, empty?: string): Field<S> {
  const input = h("input", { type: "number", min: 0, step: "any", inputmode: "decimal", id: fresh(), placeholder: empty ?? "", autocomplete: "off" });
  const unit = h("select", { "aria-label": `${label}: period` }, ...RATE_UNITS.map(([value, words]) => h("option", { value }, words)));
  const entered = () => {
    if (input.value === "" && empty !== undefined) return change((state) => set(state, null));
    const rate = { calls: Number(decimal(input.valueAsNumber)), per: unit.value as Per };
    const fits = perSecond(rate) >= 0 && perSecond(rate) <= 1e6 && rate.calls < 1e9;
    input.setCustomValidity(fits ? "" : "A rate must be at most a million calls a second.");
    if (fits) change((state) => set(state, rate));
  };
  input.addEventListener("input", entered);
  unit.addEventListener("change", entered);
  return {
    element: pair(label, input, unit),
    sync: (state) => {
      const value = get(state);
      unit.disabled = value === null;
      if (busy(input) || busy(unit)) return;
      input.setCustomValidity("");
      input.value = value ? decimal(value.calls) : "";
      if (value) unit.value = value.per;
    },
  };
}

/**
 * Fields whose number or kind depends on the state. They are rebuilt when `key` changes; the focus
 * stays on the control at the same place.
 */
export function varying<S>(element: HTMLElement, key: (state: S) => string, build: (state: S) => Field<S>[]): Field<S> {
  let now: string | null = null;
  let fields: Field<S>[] = [];
  return {
    element,
    sync: (state) => {
      const next = key(state);
      if (next !== now) {
        const place = focusable(element).indexOf(document.activeElement as HTMLElement);
        now = next;
        fields = build(state);
        element.replaceChildren(...fields.map((field) => field.element));
        if (place >= 0) { const all = focusable(element); (all[Math.min(place, all.length - 1)] ?? element).focus(); }
      }
      for (const field of fields) field.sync(state);
    },
  };
}

const focusable = (element: HTMLElement) => [...element.querySelectorAll<HTMLElement>("input, select, button, summary")];

/** A button that changes the state. */
export const button = (label: string, press: () => void, words?: string): HTMLButtonElement =>
  h("button", { type: "button", onclick: press, ...(words && { "aria-label": words }) }, label);

export const fixed = <S>(element: HTMLElement): Field<S> => ({ element, sync: () => {} });

/** A focused input is being typed in. */
const busy = (input: HTMLElement) => document.activeElement === input;

function write(input: HTMLInputElement, value: string): void {
  if (!busy(input)) input.value = value;
}

function labelled(label: string, control: HTMLElement, unit = ""): HTMLElement {
  return h("div", { class: "field" }, h("label", { for: control.id }, label), h("span", {}, control, unit && ` ${unit}`));
}

function pair(label: string, input: HTMLElement, unit: HTMLElement): HTMLElement {
  return h("div", { class: "field" }, h("label", { for: input.id }, label), h("span", { class: "pair" }, input, unit));
}

/** An error's message, for the reader. */
export const reason = (error: unknown): string =>
  error instanceof Fault || error instanceof Error ? error.message : String(error);

/**
 * Controls that show and change a part of the state. Each is built once and follows the state
 * through `sync`, which leaves the control alone while the reader types.
 */

import { edited } from "./changes";
import { fresh, h } from "./dom";
import { get, type Path, type State } from "./state";
import { PERIODS, decimal, perSecond, rate as readRate, rateText, time as readTime, timeText, type Per, type Time } from "./units";

export interface Field {
  element: Node;
  sync(state: State): void;
}

/** Requests another state. */
export type Change = (change: (state: State) => State) => void;

/** Builds a control of the part of the state that `base` leads to. */
export type Make = (change: Change, base: Path) => Field;

/** Builds all controls of a part of the state. */
export const make = (makes: Make[], change: Change, base: Path): Field[] => makes.map((make) => make(change, base));

export const elements = (fields: Field[]): Node[] => fields.map(({ element }) => element);

const within = (base: Path, path: string): Path => [...base, ...path.split(".").filter(Boolean)];

/** With `empty`, an empty field removes the value, and shows this. */
interface Optional { empty?: string }

/** `usual` is the number of a part without one. The field shows a multiple of the number. */
interface Bounds extends Optional { least?: number; most?: number; step?: number | "any"; unit?: string; usual?: number; times?: number }

export const number = (label: string, path: string, { least = 0, most = 1e9, step = 1, unit, usual, times = 1, empty }: Bounds = {}): Make => (change, base) => {
  const place = within(base, path);
  const input = h("input", { type: "number", min: least, max: most, step, inputmode: "decimal", id: fresh(), placeholder: empty, autocomplete: "off" });
  input.addEventListener("input", () => {
    const isEmpty = input.value === "";
    if (!input.checkValidity() || (isEmpty && empty === undefined)) return;
    change((state) => edited(state, place, isEmpty ? undefined : Number(decimal(input.valueAsNumber / times))));
  });
  return {
    element: labelled(label, input, unit),
    sync: (state) => {
      const value = (get(state, place) ?? usual) as number | undefined;
      if (!busy(input)) input.value = value === undefined ? "" : decimal(value * times);
    },
  };
};

export const choice = (label: string, path: string, options: readonly (readonly [string, string])[]): Make => (change, base) => {
  const place = within(base, path);
  const select = h("select", { id: fresh() }, ...options.map(([value, words]) => h("option", { value }, words)));
  select.addEventListener("change", () => change((state) => edited(state, place, select.value || undefined)));
  return { element: labelled(label, select), sync: (state) => { select.value = String(get(state, place) ?? ""); } };
};

/** A value with a unit, as scenario files write it. */
interface Quantity extends Optional {
  units: readonly (readonly [string, string])[];
  /** What the unit's control is called. */
  unit: string;
  /** The text for a number and a unit; null if it is out of bounds, with `fault` for the reader. */
  write(number: number, unit: string): string | null;
  fault: string;
  read(text: string): [number, string];
}

const quantity = (label: string, path: string, { units, unit: name, write, fault, read, empty }: Quantity): Make => (change, base) => {
  const place = within(base, path);
  const input = h("input", { type: "number", min: 0, step: "any", inputmode: "decimal", id: fresh(), placeholder: empty ?? "", autocomplete: "off" });
  const unit = h("select", { "aria-label": `${label}: ${name}` }, ...units.map(([value, words]) => h("option", { value, selected: value === "s" }, words)));
  const set = (value: string | undefined) => change((state) => edited(state, place, value));
  const entered = () => {
    if (input.value === "" && empty !== undefined) return set(undefined);
    const text = write(input.valueAsNumber, unit.value);
    input.setCustomValidity(text === null ? fault : "");
    if (text !== null) set(text === "" ? undefined : text);
  };
  input.addEventListener("input", entered);
  unit.addEventListener("change", entered);
  return {
    element: h("div", { class: "field" }, h("label", { for: input.id }, label), h("span", { class: "pair" }, input, unit)),
    sync: (state) => {
      const text = get(state, place) as string | undefined;
      unit.disabled = text === undefined;
      if (busy(input) || busy(unit)) return;
      input.setCustomValidity("");
      const [number, per] = text === undefined ? [null, unit.value] : read(text);
      input.value = number === null ? "" : decimal(number);
      unit.value = per;
    },
  };
};

const TIMES: [string, Time][] = [["ms", 1_000], ["s", PERIODS.s], ["min", PERIODS.min], ["h", PERIODS.h]];

export const time = (label: string, path: string, { least = 0, most = 3650 * PERIODS.d, empty }: { least?: Time; most?: Time } & Optional = {}): Make =>
  quantity(label, path, {
    units: TIMES.map(([name]) => [name, name] as const), unit: "unit", empty, fault: "This time is too short or too long here.",
    write: (number, unit) => {
      const value = Math.round(number * new Map(TIMES).get(unit)!);
      return value >= least && value <= most ? timeText(value) : null;
    },
    read: (text) => {
      const value = readTime(text);
      const [name, size] = [...TIMES].reverse().find(([, size]) => value >= size && (value / size) % 0.5 === 0) ?? (value < 1_000 && value > 0 ? TIMES[0]! : TIMES[1]!);
      return [value / size, name];
    },
  });

/** If `positive`, a rate of 0 counts as none. */
export const rate = (label: string, path: string, { empty, positive }: { positive?: boolean } & Optional = {}): Make =>
  quantity(label, path, {
    units: [["s", "/ s"], ["min", "/ min"], ["h", "/ h"], ["d", "/ day"]], unit: "period", empty, fault: "A rate must be at most a million calls a second.",
    write: (number, unit) => {
      const rate = { calls: Number(decimal(number)), per: unit as Per };
      if (!(perSecond(rate) >= 0 && perSecond(rate) <= 1e6 && rate.calls < 1e9)) return null;
      return positive && rate.calls === 0 ? "" : rateText(rate);
    },
    read: (text) => {
      const { calls, per } = readRate(text);
      return [calls, per];
    },
  });

/** The words, the value and the controls of an alternative. */
export type Alternative = readonly [string, unknown, Make[]];

/**
 * One of several alternatives, each with its own controls. A value with parameters is a table with
 * the alternative's name as a key; the other keys of the table stay. The first alternative applies
 * to a part without a value.
 */
export const variant = (label: string, path: string, alternatives: Record<string, Alternative>, className = "fields"): Make => (change, base) => {
  const place = within(base, path);
  const names = Object.keys(alternatives);
  const now = (state: State): string => {
    const value = get(state, place);
    return (typeof value === "string" ? value : names.find((name) => value !== undefined && Object.hasOwn(value as object, name))) ?? names[0]!;
  };
  const select = h("select", { id: fresh() }, ...names.map((name) => h("option", { value: name }, alternatives[name]![0])));
  select.addEventListener("change", () => change((state) => {
    const [, value] = alternatives[select.value]!;
    const before = get(state, place);
    const others = Object.entries(typeof before === "object" ? before! : {}).filter(([key]) => !names.includes(key));
    return edited(state, place, typeof value === "object" ? { ...value, ...Object.fromEntries(others) } : value);
  }));
  const own = varying(h("div", { class: className }), now, (state) => make(alternatives[now(state)]![2], change, place));
  const element = document.createDocumentFragment();
  element.append(labelled(label, select), own.element);
  return { element, sync: (state) => { select.value = now(state); own.sync(state); } };
};

/**
 * Fields whose number or kind depends on the state. They are rebuilt when `key` changes; the focus
 * stays on the control at the same place.
 */
export function varying(element: HTMLElement, key: (state: State) => string, build: (state: State) => Field[]): Field {
  let now: string | null = null;
  let fields: Field[] = [];
  return {
    element,
    sync: (state) => {
      const next = key(state);
      if (next !== now) {
        const place = focusable(element).indexOf(document.activeElement as HTMLElement);
        now = next;
        fields = build(state);
        element.replaceChildren(...elements(fields));
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

export const fixed = (element: HTMLElement): Field => ({ element, sync: () => {} });

/** A focused input is being typed in. */
const busy = (input: HTMLElement) => document.activeElement === input;

function labelled(label: string, control: HTMLElement, unit = ""): HTMLElement {
  return h("div", { class: "field" }, h("label", { for: control.id }, label), h("span", {}, control, unit && ` ${unit}`));
}

/** An error's message, for the reader. */
export const reason = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** The digits of a whole number, grouped from 10 000 on. */
export const grouped = (whole: string | number): string =>
  String(whole).length > 4 ? String(whole).replace(/\B(?=(\d{3})+$)/g, "\u202f") : String(whole);

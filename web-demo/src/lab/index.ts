/** Fills the laboratory. */
export function mount(_host: HTMLElement): void {}

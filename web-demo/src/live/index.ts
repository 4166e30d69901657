/** Fills the live section. */
export function mount(_host: HTMLElement): void {}

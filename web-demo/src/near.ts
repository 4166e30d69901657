/** Calls `then` once, when the element with this id comes near the view. */
export function near(id: string, then: (host: HTMLElement) => unknown): void {
  const host = document.getElementById(id);
  if (!host) return;
  const observer = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    observer.disconnect();
    void then(host);
  }, { rootMargin: "600px" });
  observer.observe(host);
}

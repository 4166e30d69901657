/** Parts of the page that load when they are near the view. */

/**
 * Calls `then` when the element with this id comes near the view. If that fails, says so and offers
 * a button that reloads the page: browsers remember a module that failed to load.
 */
export function near(id: string, then: (host: HTMLElement) => Promise<unknown>): void {
  const host = document.getElementById(id);
  if (!host) return;
  const failed = (error: unknown) => {
    console.info(error);
    const [note, retry] = [document.createElement("p"), document.createElement("button")];
    note.className = "failed";
    note.setAttribute("role", "alert");
    note.textContent = "This part could not be loaded. Check your connection. ";
    [retry.type, retry.textContent] = ["button", "Retry"];
    retry.addEventListener("click", async () => {
      retry.disabled = true;
      // Reloading without a connection would lose the page.
      const online = await fetch(location.href, { cache: "no-store" }).catch(() => null);
      retry.disabled = false;
      if (!online) return;
      history.replaceState(null, "", `#${id}`);
      location.reload();
    });
    note.append(retry);
    host.prepend(note);
  };
  const observer = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    observer.disconnect();
    then(host).catch(failed);
  }, { rootMargin: "600px" });
  observer.observe(host);
}

// One member of a fleet that shares a budget: a process or a tab. It makes calls on request of the process that
// started it, and reports when each begins, is sent and ends.

/**
 * Creates a gate with `make`, and makes calls through it. Calls `end` after the gate is closed. The port has the
 * member's options (`told`), the number of its process, and functions for messages: `tell` and `listen`.
 */
export function play({ told: { member, url, policy, skew }, number, tell, listen }, make, end) {
  const gate = make({
    ...policy,
    key: () => "api",
    now: () => performance.now() + skew,
    fetch: (input, init) => {
      tell({ left: Date.now() });
      // A browser's HTTP cache may send a GET again that other tabs make at the same time.
      return fetch(input, { ...init, cache: "no-store" });
    },
  });

  let turn = 0;
  let isEnding = false;
  let isClosed = false;
  async function calls() {
    while (!isEnding) {
      const name = `${member}-${number}-${turn++}`;
      tell({ began: name });
      try {
        const answer = await gate.fetch(url, { headers: { "idempotency-key": name } });
        tell({ name, ended: (await answer.text()) === "served\n" ? "served" : isClosed ? "closed" : "lost" });
      } catch (error) {
        tell({ name, ended: isClosed ? "closed" : "lost", why: String(error) });
      }
    }
  }

  const stats = setInterval(() => tell({ stats: gate.stats(), holds: !!gate.budget("api") }), 50);

  listen(async ({ callers = 0, end: ends, close }) => {
    for (let i = 0; i < callers; i++) void calls();
    if (ends) isEnding = true;
    if (!close) return;
    isEnding = isClosed = true;
    await gate.close();
    clearInterval(stats);
    await end();
  });
}

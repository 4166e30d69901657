// One member of a fleet that shares a budget: an isolate, a process or a tab. It makes calls on request of the process
// that started it, and reports when each begins, is sent and ends.

/**
 * Creates a gate with `make`, and makes calls through it. Calls `end` after the gate is closed. The port has the
 * member's options (`told`), a number that no earlier member had, and functions for messages: `tell` and `listen`.
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
  async function call() {
    const name = `${member}-${number}-${turn++}`;
    tell({ began: name });
    try {
      const answer = await gate.fetch(url, { headers: { "idempotency-key": name } });
      tell({ name, ended: (await answer.text()) === "served\n" ? "served" : isClosed ? "closed" : "lost" });
    } catch (error) {
      tell({ name, ended: isClosed ? "closed" : "lost", why: String(error) });
    }
  }
  async function loop() {
    while (!isEnding) await call();
  }

  const stats = setInterval(async () => tell({ stats: await gate.stats(), holds: !!gate.budget("api") }), 250);

  listen(async ({ callers = 0, calls = 0, end: ends, close }) => {
    for (let i = 0; i < callers; i++) void loop();
    for (let i = 0; i < calls; i++) void call();
    if (ends) isEnding = true;
    if (!close) return;
    isEnding = isClosed = true;
    await gate.close();
    clearInterval(stats);
    await end();
  });
}

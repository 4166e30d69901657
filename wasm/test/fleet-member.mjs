// One member of a fleet that shares a budget, a process or a tab: it makes calls as it is told by the process that
// started it, and tells of each when it begins, leaves and ends.

/**
 * Makes calls through the gate that is made with the options that `make` is given; `end` is for when it is closed.
 * The port says what the member was `told`, which number its process has, and carries messages: `tell` and `listen`.
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

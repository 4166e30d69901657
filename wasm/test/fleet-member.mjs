// One process of a fleet that shares a budget: it makes calls as it is told by the process that started it, and
// tells of each when it begins, leaves and ends.

/** What it was started with. */
export const told = JSON.parse(process.env.TIDEGATE_ISOLATE);

const { member, url, policy, skew } = told;
const tell = (what) => process.connected && process.send(what);

/** Makes calls through the gate that is made with these options; `end` is for when the gate is closed. */
export function play(make, end = () => {}) {
  const gate = make({
    ...policy,
    key: () => "api",
    now: () => performance.now() + skew,
    fetch: (input, init) => {
      tell({ left: Date.now() });
      return fetch(input, init);
    },
  });

  let turn = 0;
  let isEnding = false;
  let isClosed = false;
  async function calls() {
    while (!isEnding) {
      const name = `${member}-${process.pid}-${turn++}`;
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

  process.on("message", async ({ callers = 0, end: ends, close }) => {
    for (let i = 0; i < callers; i++) void calls();
    if (ends) isEnding = true;
    if (!close) return;
    isEnding = isClosed = true;
    await gate.close();
    clearInterval(stats);
    await end();
    process.disconnect();
  });
  process.on("disconnect", () => process.exit());
}

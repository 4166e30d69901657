// One process of a fleet: it hears and tells through the channel of Node's that its parent has made.

/** See fleet-member.mjs. */
export const port = {
  told: JSON.parse(process.env.TIDEGATE_ISOLATE),
  number: process.pid,
  tell: (what) => process.connected && process.send(what),
  listen: (hear) => process.on("message", hear),
};

/** Ends the process, in order. */
export const end = () => process.disconnect();

process.on("disconnect", () => process.exit());

// One process of a fleet: it exchanges messages with its parent through Node's channel.

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

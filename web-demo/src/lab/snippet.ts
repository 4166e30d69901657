/** The lines that put a law to work in somebody's program. */

import type { Law } from "tidegate";

/** Where the package keeps each law: all are in `tidegate/laws`, the usual ones in `tidegate` too. */
const ENTRIES: Record<Law, "tidegate" | "tidegate/laws"> = {
  adaptive: "tidegate", fixed: "tidegate", none: "tidegate", backoff: "tidegate",
  aimd: "tidegate/laws", crowd: "tidegate/laws", vegas: "tidegate/laws", busy: "tidegate/laws", responsive: "tidegate/laws",
  cubic: "tidegate/laws", gradual: "tidegate/laws", proportional: "tidegate/laws", remaining: "tidegate/laws",
};

const isLaw = (law: string): law is Law => law in ENTRIES;

export function snippet(law: string): string {
  if (isLaw(law)) {
    // What the simulator's `fixed` keeps, since it knows no other limit.
    const options = law === "fixed" ? `law: "fixed", requests: { limit: 10, per: 1_000 }` : `law: "${law}"`;
    return `import { tidegate } from "${ENTRIES[law]}";

const gate = tidegate({ ${options} });

const answer = await gate.fetch("https://api.example.com/things");`;
  }
  const [one, other] = law.split("+");
  if (one && other && isLaw(one) && isLaw(other)) {
    return `// Two laws on one controller are in the Rust crate.
use tidegate::{Controller, Instant, Policy};

let one = Policy::named("${one}").unwrap();
let both = one.beside(&Policy::named("${other}").unwrap());
let mut gate = Controller::new(both, seed, now);`;
  }
  return `// ${law} is somebody else's, ported to compare with: it is in no package of ours.
// tests/sim/src/peer/mod.rs names its source.`;
}

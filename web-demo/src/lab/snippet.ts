/** Code that uses a law in the reader's program. */

import { LAWS, type Law } from "tidegate";
import { NO_GATE } from "./laws";
import type { OwnLaws } from "./ownlaws";
import { PERIODS, rate, time } from "./units";

const isLaw = (law: string): law is Law => (LAWS as readonly string[]).includes(law);

/** `tidegate/full` exports all laws; `tidegate` exports the first four. */
const entry = (law: Law) => (LAWS.indexOf(law) < 4 ? "tidegate" : "tidegate/full");

export function snippet(law: string, own: OwnLaws = {}): string {
  if (law === NO_GATE) return `const answer = await fetch("https://api.example.com/things");`;
  if (own[law]) return ownSnippet(...Object.entries(own[law])[0] as [Law, Parameters]);
  if (isLaw(law)) {
    // The limit of the simulator's `fixed`.
    const options = law === "fixed" ? `law: "fixed", requests: { limit: 10, per: 1_000 }` : `law: "${law}"`;
    return lines(law, options);
  }
  const [one, other] = law.split("+");
  if (one && other && isLaw(one) && isLaw(other)) {
    return `// Two laws on one controller: in the Rust crate only.
use tidegate::{Controller, Instant, Policy};

let one = Policy::named("${one}").unwrap();
let both = one.beside(&Policy::named("${other}").unwrap());
let mut gate = Controller::new(both, seed, now);`;
  }
  return `// ${law} is ported from another project for comparison. Our packages do not contain it.
// tools/sim/src/peer/mod.rs names its source.`;
}

const lines = (law: Law, options: string) => `import { tidegate } from "${entry(law)}";

const gate = tidegate({ ${options} });

const answer = await gate.fetch("https://api.example.com/things");`;

type Parameters = Partial<Record<string, string | number>>;

function ownSnippet(kind: Law, parameters: Parameters): string {
  const ms = (text: string | number) => time(String(text)) / 1_000;
  if (kind === "fixed") {
    const { calls, per } = rate(String(parameters.rate));
    const burst = parameters.burst ? `, burst: ${parameters.burst}` : "";
    return lines(kind, `law: "fixed", requests: { limit: ${calls}, per: ${PERIODS[per] / 1_000}${burst} }`);
  }
  if (kind === "backoff" && !parameters.factor && !parameters.jitter) {
    const delays = [parameters.base && `base: ${ms(parameters.base)}`, parameters.most && `max: ${ms(parameters.most)}`].filter(Boolean).join(", ");
    const attempts = parameters.attempts ? `, attempts: ${parameters.attempts}` : "";
    return lines(kind, `law: "backoff"${delays && `, backoff: { ${delays} }`}${attempts}`);
  }
  return `// The npm package has ${kind} with its default parameters; these are in the Rust crate only.`;
}

// The same from CommonJS.

import { tidegate, DeadlineExceeded } from "tidegate";
import type { Permit } from "tidegate";
import { observe } from "tidegate/otel";
import { pacing } from "tidegate/pacing";
import { testClock } from "tidegate/test";

const gate = tidegate({ ...testClock().options, requests: { limit: 1, per: 1_000 } });
const permit: Permit | null = gate.tryAcquire();
permit?.settle("final");
gate.on("gaveUp", ({ why, attempt }) => void [why.length, attempt.toFixed()]);
const text: Promise<string> = gate.fetch("https://api.example/").then((answer) => answer.text());
text.catch((error) => (error instanceof DeadlineExceeded ? error.wait : 0));
void [pacing({ limit: 1, per: 10 }).take(), observe];

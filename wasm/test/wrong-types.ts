// Fourteen mistakes that the types find.

import { tidegate } from "tidegate";
import { tidegate as every } from "tidegate/full";
import { tidegate as lite } from "tidegate/lite";

tidegate({ law: "magic" });
tidegate({ requests: { limit: 100 } });
tidegate({ law: "vegas", requests: { limit: 100, per: 1_000 } });
const gate = tidegate();
gate.setPolicy({ law: "aimd" });
gate.on("thrown", () => {});
gate.run(() => 1, { deadline: "soon" });
gate.tryAcquire()?.settle("fine");
gate.run(() => 1, { key: ["account", "model"] });
every().run(() => 1, { key: ["account", 5] });
lite({ tokens: { limit: 1, per: 1 } });
lite().run(() => 1, { cost: 2 });
lite().setPolicy({ retryBudget: { percent: 10 } });
lite().tryAcquire()?.settle("ok", 2);
lite().stats();

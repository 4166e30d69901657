// Five mistakes that the types find.

import { tidegate } from "tidegate";

tidegate({ law: "magic" });
tidegate({ requests: { limit: 100 } });
const gate = tidegate();
gate.on("thrown", () => {});
gate.run(() => 1, { deadline: "soon" });
gate.tryAcquire()?.settle("fine");

// Where the programs that the tests run are installed: all npm packages of the repository are one workspace.

import path from "node:path";

export const tool = (name) => path.join(import.meta.dirname, "../../node_modules", name);

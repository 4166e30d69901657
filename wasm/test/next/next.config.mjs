import path from "node:path";

// The packages are those of the folder above.
export default { turbopack: { root: path.resolve(import.meta.dirname, "..") } };

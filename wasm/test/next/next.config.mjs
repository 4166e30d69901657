import path from "node:path";

// The packages are installed in the repository's folder.
export default { turbopack: { root: path.resolve(import.meta.dirname, "../../..") } };

import { fileURLToPath } from "node:url";

/** The repository's folder, with a slash at its end. */
export const REPOSITORY: string = fileURLToPath(new URL("../../", import.meta.url));

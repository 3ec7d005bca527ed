import assert from "node:assert/strict";
import { REPOSITORY, sourceFiles } from "./source_files.ts";

const files = (await sourceFiles(REPOSITORY)).filter((file) => file.startsWith("core/"));

/**
 * Loading code is the one moment in which no port is there to stand between it and the machine.
 * It also shows every file of core to the coverage report: one that no test imports counts as
 * uncovered instead of being left out.
 */
Deno.test({
  name: "core: every file loads with no permission but to read code",
  permissions: { read: [REPOSITORY] },
  fn: async () => {
    assert.ok(files.length > 0);
    for (const file of files) await import(`${REPOSITORY}${file}`);
  },
});

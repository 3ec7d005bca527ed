import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { createNodeDisk } from "../../../../adapters/node/disk.ts";
import { mustRun } from "../../../lab/command.ts";

const MODULE = new URL("../../../../adapters/node/own_hash.ts", import.meta.url).href;
const FILE = fileURLToPath(import.meta.url);

Deno.test("ownHash: what it may not read, a program of the system hashes", async () => {
  const expected = await createNodeDisk().sha256(FILE);
  const code = `import { ownHash } from "${MODULE}"; console.log(await ownHash("${FILE}"));`;
  const script = await Deno.makeTempFile({ suffix: ".ts" });
  await Deno.writeTextFile(script, code);
  for (const flag of [`--allow-read=${FILE}`, "--allow-run=/usr/bin/sha256sum"]) {
    const flags = ["--no-check", "--no-lock", "--no-config", "--no-prompt", "--quiet"];
    const said = await mustRun(Deno.execPath(), ["run", ...flags, flag, script]);
    assert.equal(said.trim(), expected.ok ? expected.value : "", flag);
  }
  await Deno.remove(script);
});

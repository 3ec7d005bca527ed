import assert from "node:assert/strict";
import { expectedFile } from "../../../../core/operations/restore/expected_file.ts";
import type { RestoreParams } from "../../../../core/operations/restore/params.ts";
import type { StepTools } from "../../../../core/operations/definition.ts";

/** Tools of a restore on a node whose record is empty. */
function tools(hasOwner: boolean, params: Partial<RestoreParams>): StepTools<RestoreParams> {
  return {
    node: { hasOwner },
    params: { snapshot: "a-demo-1-1", from: "s3", sha256: null, ...params },
    snapshots: { find: () => Promise.resolve({ ok: true, value: null }) },
  } as unknown as StepTools<RestoreParams>;
}

Deno.test("cluster.restore: where the owner has keys, no unknown file of a bucket is restored", async () => {
  const refused = await expectedFile(tools(true, {}));
  assert.ok(!refused.ok);
  assert.match(refused.error.message, /a-demo-1-1 is not known any more .* params\.sha256/);
  const others = [
    tools(true, { sha256: "0".repeat(64) }),
    tools(true, { from: "local" }),
    tools(false, {}),
  ];
  for (const each of others) assert.ok((await expectedFile(each)).ok);
});

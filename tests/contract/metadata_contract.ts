import assert from "node:assert/strict";
import type { Metadata, MetadataError } from "../../core/ports/metadata.ts";

/** An adapter whose service gives the ID that the test sets, or fails. */
export interface MetadataWorld {
  readonly metadata: Metadata;
  /** The next answers: an ID, or the failure with this code. */
  answer(next: { readonly id: string } | { readonly code: MetadataError["code"] }): void;
}

/** What every {@link Metadata} does. */
export function metadataContract(name: string, open: () => MetadataWorld): void {
  Deno.test(`metadata (${name}): gives the server's ID`, async () => {
    const { metadata, answer } = open();
    answer({ id: "4711" });
    assert.deepEqual(await metadata.instanceId(), { ok: true, value: "4711" });
  });

  for (const code of ["connect", "timeout", "malformed"] as const) {
    Deno.test(`metadata (${name}): "${code}" is an error until the service answers`, async () => {
      const { metadata, answer } = open();
      answer({ code });
      const first = await metadata.instanceId();
      assert.equal(first.ok ? "" : first.error.code, code);
      answer({ id: "42" });
      assert.deepEqual(await metadata.instanceId(), { ok: true, value: "42" });
    });
  }
}

import assert from "node:assert/strict";
import type { K3s } from "../../core/ports/k3s.ts";

/** An adapter on a host whose k3s can be changed. */
export interface K3sWorld {
  readonly k3s: K3s;
  /** Puts a k3s of this version in place; null takes it away. */
  install(version: string | null): Promise<void>;
  close(): Promise<void>;
}

/** What every {@link K3s} does. */
export function k3sContract(name: string, open: () => Promise<K3sWorld>): void {
  Deno.test(`k3s (${name}): tells the version that is installed now`, async () => {
    const { k3s, install, close } = await open();
    for (const version of ["v1.36.3+k3s1", "v1.37.0-rc1+k3s2"]) {
      await install(version);
      assert.deepEqual(await k3s.version(), { ok: true, value: version });
    }
    await close();
  });

  Deno.test(`k3s (${name}): one that is not installed is missing`, async () => {
    const { k3s, install, close } = await open();
    await install(null);
    const version = await k3s.version();
    assert.equal(version.ok ? "" : version.error.code, "missing");
    assert.ok(!version.ok && version.error.program.endsWith("/usr/local/bin/k3s"));
    await close();
  });
}

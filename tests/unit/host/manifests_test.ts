import assert from "node:assert/strict";
import { manifestPath, skipPath } from "../../../core/host/manifests.ts";

Deno.test("manifestPath, skipPath: stand side by side in the folder that k3s reads", () => {
  const path = "/var/lib/rancher/k3s/server/manifests/pbx-hcloud-ccm.yaml";
  assert.equal(manifestPath("hcloud-ccm"), path);
  assert.equal(skipPath("hcloud-ccm"), `${path}.skip`);
});

Deno.test("manifestPath, skipPath: take no name that could leave the folder or shorten the Addon's name", () => {
  for (const name of ["", ".", "..", "../x", "a/b", "a.b", "A", "a\n", "x".repeat(64)]) {
    assert.throws(() => manifestPath(name), JSON.stringify(name));
    assert.throws(() => skipPath(name), JSON.stringify(name));
  }
});

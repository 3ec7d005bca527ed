import assert from "node:assert/strict";
import { applySecrets } from "../../../core/agent/converge_cluster.ts";
import { createMachine, openAgent } from "../operations/machine.ts";

const PATH = "/api/v1/namespaces/kube-system/secrets/hcloud";

Deno.test("applySecrets: before each of its writes it asks whether this node still leads", async () => {
  for (const writes of [0, 1, 2]) {
    const machine = createMachine();
    const metadata = { name: "hcloud", namespace: "kube-system" };
    const secret = (data: Record<string, string>) => ({
      apiVersion: "v1",
      kind: "Secret",
      metadata,
      data,
    });
    // A key that is not wanted is claimed by a write of its own, and gone with the next one.
    machine.k8s.write(PATH, secret({ token: "b2xk", extra: "b2xk" }), "kubectl");
    machine.k8s.forgetRequests();
    const ref = { apiVersion: "v1", resource: "secrets", ...metadata };
    let asked = 0;
    const applied = await applySecrets(
      await openAgent(machine.ports),
      [{ ref, object: secret({ token: "bmV3" }) }],
      false,
      () => asked++ < writes,
    );
    assert.equal(applied.ok, writes === 2);
    assert.equal(machine.k8s.writes(), writes);
  }
});

import assert from "node:assert/strict";
import { createFakeK8s } from "../../../../adapters/fake/k8s.ts";
import type { JsonObject } from "../../../../core/json.ts";
import { healthFindings, nodeFindings } from "../../../../core/operations/upgrade/health.ts";

const EXPECTED = { node: "demo-1", k3sVersion: "v1.37.1+k3s1", bootId: "this" };

function node(ready: string, nodeInfo: JsonObject): JsonObject {
  const conditions = [{ type: "Ready", status: ready }];
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: "demo-1" },
    status: { conditions, nodeInfo },
  };
}

const NEW = { kubeletVersion: "v1.37.1+k3s1", bootID: "this" };

Deno.test("nodeFindings: a Node that is Ready, on the new k3s, and has reported since the boot", () => {
  const rows: readonly (readonly [JsonObject, readonly RegExp[]])[] = [
    [node("True", NEW), []],
    // Not every stand-in for a kubelet tells its boot.
    [node("True", { kubeletVersion: "v1.37.1+k3s1" }), []],
    [node("True", { ...NEW, bootID: "before" }), [/has not reported since the boot/]],
    [node("False", NEW), [/is not Ready/]],
    [node("Unknown", NEW), [/is not Ready/]],
    [
      node("True", { ...NEW, kubeletVersion: "v1.36.3+k3s1" }),
      [/runs k3s v1\.36\.3\+k3s1 and not v1\.37\.1/],
    ],
    [node("False", {}), [/is not Ready/, /k3s of no known version/]],
  ];
  for (const [object, words] of rows) {
    const findings = nodeFindings(object, EXPECTED);
    assert.equal(findings.length, words.length, findings.join());
    for (const [index, word] of words.entries()) assert.match(findings[index] ?? "", word);
  }
});

/** A Deployment of kube-system, or of another namespace. */
function deployment(name: string, available: string, more: JsonObject = {}): JsonObject {
  const { namespace = "kube-system", generation = 1, observed = generation } = more;
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace, generation },
    status: {
      observedGeneration: observed,
      conditions: [{ type: "Available", status: available }],
    },
  };
}

Deno.test("healthFindings: every Deployment of kube-system, and no other, has to be available", async () => {
  const k8s = createFakeK8s();
  const found = () => healthFindings({ k8s }, EXPECTED);
  const put = (object: JsonObject) => {
    const { name, namespace } = object["metadata"] as JsonObject;
    k8s.write(`/apis/apps/v1/namespaces/${namespace}/deployments/${name}`, object, "test");
  };
  assert.match((await found()).join(), /the API knows no Node demo-1/);
  k8s.write("/api/v1/nodes/demo-1", node("True", NEW), "kubelet");
  assert.deepEqual(await found(), []);
  put(deployment("coredns", "True"));
  put(deployment("broken", "False", { namespace: "default" }));
  assert.deepEqual(await found(), []);
  put(deployment("metrics-server", "False"));
  put(deployment("traefik", "True", { observed: 0 }));
  assert.deepEqual(await found(), [
    "Deployment kube-system/metrics-server is not available",
    "Deployment kube-system/traefik is not available",
  ]);
  k8s.breakWith({ kind: "down" });
  assert.match((await found()).join(), /readyz/);
});

Deno.test("healthFindings: a Deployment without conditions is judged by its counts", async () => {
  const rows: readonly [JsonObject, JsonObject, boolean][] = [
    [{ replicas: 2 }, { availableReplicas: 2 }, true],
    [{ replicas: 2 }, { availableReplicas: 1 }, false],
    [{}, { availableReplicas: 1 }, true],
    [{}, {}, false],
    [{ replicas: 0 }, {}, true],
    [{ replicas: 1 }, {
      availableReplicas: 1,
      conditions: [{ type: "Available", status: "False" }],
    }, false],
  ];
  for (const [spec, status, isAvailable] of rows) {
    const k8s = createFakeK8s();
    k8s.write("/api/v1/nodes/demo-1", node("True", NEW), "kubelet");
    k8s.write("/apis/apps/v1/namespaces/kube-system/deployments/coredns", {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "coredns", namespace: "kube-system" },
      spec,
      status,
    }, "test");
    const findings = await healthFindings({ k8s }, EXPECTED);
    assert.equal(findings.length === 0, isAvailable, JSON.stringify([spec, status, findings]));
  }
});

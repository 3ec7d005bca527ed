import assert from "node:assert/strict";
import fc from "fast-check";
import { objectPath } from "../../../core/cluster/object_path.ts";

Deno.test("objectPath: the core group, other groups, with and without a namespace", () => {
  const core = { apiVersion: "v1", resource: "secrets", namespace: "kube-system", name: "hcloud" };
  assert.equal(objectPath(core), "/api/v1/namespaces/kube-system/secrets/hcloud");
  const node = { apiVersion: "v1", resource: "nodes", name: "node-1" };
  assert.equal(objectPath(node), "/api/v1/nodes/node-1");
  const chart = { ...core, apiVersion: "helm.cattle.io/v1beta2", resource: "helmcharts" };
  assert.equal(
    objectPath(chart),
    "/apis/helm.cattle.io/v1beta2/namespaces/kube-system/helmcharts/hcloud",
  );
  const role = {
    apiVersion: "rbac.authorization.k8s.io/v1",
    resource: "clusterroles",
    name: "system:node",
  };
  const rolePath = "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode";
  assert.equal(objectPath(role), rolePath);
});

Deno.test("objectPath: whatever the parts are, the path stays where they say, or there is none", () => {
  const part = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom(
      "",
      ".",
      "..",
      "v1",
      "a:b",
      "one-2",
      "a/b",
      "../x",
      "a%2e",
      "a?b",
      "a#b",
      "a b",
      "A",
      "a\n",
    ),
  );
  const good = { apiVersion: "v1", resource: "secrets", namespace: "default", name: "one" };
  const key = fc.constantFrom("resource", "namespace", "name");
  fc.assert(
    fc.property(key, part, (key, value) => {
      const path = objectPath({ ...good, [key]: value });
      if (path === null) return;
      assert.equal(new URL(`https://127.0.0.1:6443${path}`).pathname, path);
      const [, , , , namespace, resource, name, ...more] = path.split("/").map(decodeURIComponent);
      assert.deepEqual({ ...good, namespace, resource, name }, { ...good, [key]: value });
      assert.deepEqual(more, []);
    }),
    { seed: 20261129, numRuns: 2_000 },
  );
});

Deno.test("objectPath: none for a part that is no name", () => {
  const good = { apiVersion: "v1", resource: "secrets", namespace: "default", name: "one" };
  assert.notEqual(objectPath(good), null);
  const bad = [
    { apiVersion: "v1/" },
    { apiVersion: "../v1" },
    { apiVersion: "a/b/v1" },
    { resource: "secrets/x" },
    { resource: "Secrets" },
    { namespace: "kube_system" },
    { namespace: "" },
    { namespace: ".." },
    { name: "one/two" },
    { name: "one\n" },
  ];
  for (const part of bad) {
    assert.equal(objectPath({ ...good, ...part }), null, JSON.stringify(part));
  }
});

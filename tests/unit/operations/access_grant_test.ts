import assert from "node:assert/strict";
import fc from "fast-check";
import { accountName, type Grant, grantObjects } from "../../../core/operations/access/grant.ts";
import { LabelValue } from "../../../core/protocol/identifiers.ts";

const ROLES = ["view", "edit", "admin", "cluster-admin"] as const;
/** Few letters, so that names are alike and collide where that is possible. */
const PERSON = fc.string({
  unit: fc.constantFrom("a", "A", "-", ".", "_", "0"),
  minLength: 1,
  maxLength: 8,
})
  .filter((text) => LabelValue.safeParse(text).success);
const GRANT: fc.Arbitrary<Grant> = fc.record({
  person: PERSON,
  role: fc.constantFrom(...ROLES),
  namespace: fc.constantFrom(undefined, "a", "a-a", "view"),
}).map(({ namespace, ...grant }) => namespace === undefined ? grant : { ...grant, namespace });

Deno.test("accountName: two people, roles or namespaces never share a ServiceAccount", () => {
  fc.assert(
    fc.property(GRANT, GRANT, (one, other) => {
      const same = one.person === other.person && one.role === other.role &&
        one.namespace === other.namespace;
      assert.equal(accountName(one) === accountName(other), same);
      assert.match(accountName(one), /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])$/);
    }),
    { seed: 11, numRuns: 3_000 },
  );
});

Deno.test("accountName: names that are made to look alike are others", () => {
  const names = [
    { person: "ada", role: "view" },
    { person: "Ada", role: "view" },
    { person: "ada", role: "edit" },
    { person: "ada", role: "view", namespace: "default" },
    { person: "ada-view", role: "view" },
    { person: "ada.default", role: "view" },
    { person: "a".repeat(63), role: "view" },
    { person: `${"a".repeat(62)}b`, role: "view" },
  ] satisfies Grant[];
  assert.equal(new Set(names.map(accountName)).size, names.length);
});

Deno.test("grantObjects: the binding gives the role to that ServiceAccount alone, and says whose it is", () => {
  fc.assert(
    fc.property(GRANT, (grant) => {
      const [namespace, account, binding] = grantObjects(grant);
      assert.equal(namespace?.ref.name, "pbx-access");
      const name = accountName(grant);
      assert.deepEqual(account?.ref, {
        apiVersion: "v1",
        resource: "serviceaccounts",
        namespace: "pbx-access",
        name,
      });
      assert.deepEqual(binding?.object["subjects"], [
        { kind: "ServiceAccount", name, namespace: "pbx-access" },
      ]);
      assert.deepEqual(binding?.object["roleRef"], {
        apiGroup: "rbac.authorization.k8s.io",
        kind: "ClusterRole",
        name: grant.role,
      });
      const where = grant.namespace === undefined ? "clusterrolebindings" : "rolebindings";
      assert.equal(binding?.ref.resource, where);
      assert.equal(binding?.ref.namespace, grant.namespace);
      for (const { object } of [account, binding]) {
        const { labels } = object["metadata"] as { labels: Record<string, string> };
        assert.equal(labels["pbx.io/person"], grant.person);
        assert.equal(labels["pbx.io/managed"], "true");
      }
    }),
    { seed: 12, numRuns: 200 },
  );
});

import assert from "node:assert/strict";
import { claimOfExtraKeys } from "../../core/cluster/secrets.ts";
import type { JsonObject } from "../../core/json.ts";
import type { K8s, K8sError, ObjectRef } from "../../core/ports/k8s.ts";
import type { Result } from "../../core/result.ts";

/** An adapter and another client of the same cluster. */
export interface K8sWorld {
  readonly k8s: K8s;
  /** A namespace that is there, for the objects of the test. */
  readonly namespace: string;
  /** Applies as another field manager, with force. */
  writeAs(manager: string, ref: ObjectRef, object: JsonObject): Promise<void>;
  close(): Promise<void>;
}

interface Metadata {
  readonly resourceVersion: string;
  readonly uid: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly managedFields: readonly { readonly manager: string; readonly operation: string }[];
}

/** What every {@link K8s} does, and what the API does behind it. */
export function k8sContract(name: string, open: () => Promise<K8sWorld>): void {
  const test = (what: string, run: (world: K8sWorld) => Promise<void>) =>
    Deno.test(`k8s (${name}): ${what}`, async () => {
      const world = await open();
      try {
        await run(world);
      } finally {
        await world.close();
      }
    });

  const secretRef = ({ namespace }: K8sWorld, name = "one"): ObjectRef => ({
    apiVersion: "v1",
    resource: "secrets",
    namespace,
    name,
  });

  test("ready is true while /readyz answers 200", async ({ k8s }) => {
    assert.equal(await k8s.ready(), true);
  });

  test("get finds cluster-scoped objects, and kube-system has a UID", async ({ k8s }) => {
    const found = value(
      await k8s.get({ apiVersion: "v1", resource: "namespaces", name: "kube-system" }),
    );
    assert.ok(found !== null && metadata(found).uid.length >= 32);
  });

  test("get gives null for a missing object, namespace, kind or group", async (world) => {
    const { k8s } = world;
    const missing: ObjectRef[] = [
      secretRef(world, "missing"),
      { ...secretRef(world), namespace: "no-such-namespace" },
      { ...secretRef(world), resource: "nosuchkind" },
      {
        apiVersion: "apiextensions.k8s.io/v1",
        resource: "customresourcedefinitions",
        name: "addons.k3s.cattle.io",
      },
      {
        apiVersion: "k3s.cattle.io/v1",
        resource: "addons",
        namespace: "kube-system",
        name: "one",
      },
    ];
    for (const ref of missing) assert.equal(value(await k8s.get(ref)), null, ref.resource);
  });

  test("apply creates an object, and get gives the same one", async (world) => {
    const made = value(await world.k8s.apply(secretRef(world), secret(world, { a: "MQ==" })));
    assert.deepEqual(made["data"], { a: "MQ==" });
    assert.equal(made["type"], "Opaque");
    assert.deepEqual(metadata(made).labels, { mine: "yes" });
    assert.deepEqual(value(await world.k8s.get(secretRef(world))), made);
  });

  test("apply owns its fields as pbx-agent", async (world) => {
    const made = value(await world.k8s.apply(secretRef(world), secret(world, { a: "MQ==" })));
    const owners = metadata(made).managedFields.map(({ manager, operation }) =>
      `${manager} ${operation}`
    );
    assert.deepEqual(owners, ["pbx-agent Apply"]);
  });

  test("apply without a difference changes nothing, not even the resourceVersion", async (world) => {
    const first = value(await world.k8s.apply(secretRef(world), secret(world, { a: "MQ==" })));
    const second = value(await world.k8s.apply(secretRef(world), secret(world, { a: "MQ==" })));
    assert.deepEqual(second, first);
  });

  test("apply with a difference changes the object and its resourceVersion", async (world) => {
    const first = value(await world.k8s.apply(secretRef(world), secret(world, { a: "MQ==" })));
    const second = value(await world.k8s.apply(secretRef(world), secret(world, { a: "Mg==" })));
    assert.deepEqual(second["data"], { a: "Mg==" });
    assert.notEqual(metadata(second).resourceVersion, metadata(first).resourceVersion);
    assert.equal(metadata(second).uid, metadata(first).uid);
  });

  test("apply drops what it owned alone and no longer wants", async (world) => {
    const ref = secretRef(world);
    await world.k8s.apply(ref, secret(world, { a: "MQ==", b: "Mg==" }));
    const after = value(await world.k8s.apply(ref, secret(world, { a: "MQ==" })));
    assert.deepEqual(after["data"], { a: "MQ==" });
  });

  test("apply keeps what others own and takes what it wants from them", async (world) => {
    const ref = secretRef(world);
    const theirs = secret(world, { a: "OQ==", c: "Mw==" }, { theirs: "yes" });
    await world.writeAs("somebody", ref, theirs);
    const after = value(await world.k8s.apply(ref, secret(world, { a: "MQ==" })));
    assert.deepEqual(after["data"], { a: "MQ==", c: "Mw==" });
    assert.deepEqual(metadata(after).labels, { mine: "yes", theirs: "yes" });
    const managers = metadata(after).managedFields.map(({ manager }) => manager).sort();
    assert.deepEqual(managers, ["pbx-agent", "somebody"]);
  });

  test("apply drops what others own once it was claimed with another value", async (world) => {
    const ref = secretRef(world);
    const wanted = secret(world, { a: "MQ==" });
    await world.writeAs("somebody", ref, secret(world, { b: "Mg==", c: "" }));
    const live = value(await world.k8s.apply(ref, wanted));
    assert.deepEqual(live["data"], { a: "MQ==", b: "Mg==", c: "" });
    const claim = claimOfExtraKeys(live, wanted);
    assert.ok(claim !== null);
    value(await world.k8s.apply(ref, claim));
    assert.deepEqual(value(await world.k8s.apply(ref, wanted))["data"], { a: "MQ==" });
  });

  test("apply into a missing namespace is refused with 404 NotFound", async (world) => {
    const ref = { ...secretRef(world), namespace: "no-such-namespace" };
    const object = secret({ ...world, namespace: "no-such-namespace" }, { a: "MQ==" });
    assert.deepEqual(refused(await world.k8s.apply(ref, object)), {
      status: 404,
      reason: "NotFound",
    });
  });

  test("apply of a kind or group that the API does not have is refused with 404", async (world) => {
    const kind = { ...secretRef(world), resource: "nosuchkind" };
    assert.equal(refused(await world.k8s.apply(kind, secret(world, {}))).status, 404);
    const chart = { apiVersion: "helm.cattle.io/v1", kind: "HelmChart", metadata: { name: "one" } };
    const group = { ...secretRef(world), apiVersion: "helm.cattle.io/v1", resource: "helmcharts" };
    assert.equal(refused(await world.k8s.apply(group, chart)).status, 404);
  });

  test("apply of an object with another name or kind is refused with 400", async (world) => {
    const wrong = { status: 400, reason: "BadRequest" };
    const other = secret(world, {}, {}, "another");
    assert.deepEqual(refused(await world.k8s.apply(secretRef(world), other)), wrong);
    const map = { ...secret(world, {}), kind: "ConfigMap" };
    assert.deepEqual(refused(await world.k8s.apply(secretRef(world), map)), wrong);
  });

  test("apply with data that is no base64, or an unknown field, is refused with 500", async (world) => {
    const text = secret(world, { a: "not base64!" });
    assert.equal(refused(await world.k8s.apply(secretRef(world), text)).status, 500);
    const odd = { ...secret(world, {}), bogus: 1 };
    assert.equal(refused(await world.k8s.apply(secretRef(world), odd)).status, 500);
    assert.equal(value(await world.k8s.get(secretRef(world))), null);
  });

  test("apply that changes a Secret's type is refused with 422", async (world) => {
    await world.k8s.apply(secretRef(world), secret(world, { a: "MQ==" }));
    const other = { ...secret(world, { a: "MQ==" }), type: "example.org/other" };
    const answer = await world.k8s.apply(secretRef(world), other);
    assert.deepEqual(refused(answer), { status: 422, reason: "Invalid" });
  });

  test("a name that would lead elsewhere is refused before it is sent", async (world) => {
    for (const name of ["", ".", "..", "a/b", "../namespaces", "a?b", "a#b", "a%2fb", "a b"]) {
      const ref = secretRef(world, name);
      const bad = { status: 400, reason: "BadRequest" };
      assert.deepEqual(refused(await world.k8s.get(ref)), bad, name);
      assert.deepEqual(refused(await world.k8s.apply(ref, secret(world, {}, {}, name))), bad, name);
    }
  });
}

function secret(
  { namespace }: Pick<K8sWorld, "namespace">,
  data: Readonly<Record<string, string>>,
  labels: Readonly<Record<string, string>> = { mine: "yes" },
  name = "one",
): JsonObject {
  const metadata = { name, namespace, labels };
  return { apiVersion: "v1", kind: "Secret", metadata, type: "Opaque", data };
}

function metadata(object: JsonObject): Metadata {
  return object["metadata"] as unknown as Metadata;
}

function value<T>(result: Result<T, K8sError>): T {
  assert.ok(result.ok, JSON.stringify(result));
  return result.value;
}

function refused(result: Result<unknown, K8sError>): { status: number; reason: string } {
  assert.ok(!result.ok && result.error.code === "refused", JSON.stringify(result));
  assert.notEqual(result.error.message, "");
  return { status: result.error.status, reason: result.error.reason };
}

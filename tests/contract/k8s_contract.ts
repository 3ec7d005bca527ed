import assert from "node:assert/strict";
import { claimOfExtraKeys } from "../../core/cluster/secrets.ts";
import { isJsonObject, type JsonObject } from "../../core/json.ts";
import type { K8s, K8sError, Labels, ObjectRef } from "../../core/ports/k8s.ts";
import type { Result } from "../../core/result.ts";

/** An adapter and another client of the same cluster. */
export interface K8sWorld {
  readonly k8s: K8s;
  /** A namespace that is there, for the objects of the test. */
  readonly namespace: string;
  /** Applies as another field manager, with force. */
  writeAs(manager: string, ref: ObjectRef, object: JsonObject): Promise<void>;
  /** Writes the `status` of an object, as whatever runs it would. */
  setStatus(ref: ObjectRef, status: JsonObject): Promise<void>;
  close(): Promise<void>;
}

/** What tests look at of an object's metadata. */
export interface Metadata {
  readonly name: string;
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

  test("list gives objects of a built-in kind without their kind", async (world) => {
    const ref = secretRef(world);
    value(await world.k8s.apply(ref, secret(world, { a: "MQ==" })));
    const [found] = value(await world.k8s.list(ref)) ?? [];
    assert.deepEqual(found?.["data"], { a: "MQ==" });
    assert.deepEqual([found?.["apiVersion"], found?.["kind"]], [undefined, undefined]);
  });

  test("apply with a resourceVersion that is no longer true is refused with 409", async (world) => {
    const ref = secretRef(world);
    const first = value(await world.k8s.apply(ref, secret(world, { a: "MQ==" })));
    const wanted = secret(world, { a: "Mg==" });
    const { resourceVersion, uid } = metadata(first);
    const sure = (data: string) => ({
      ...secret(world, { a: data }),
      metadata: { ...wanted["metadata"] as JsonObject, resourceVersion, uid },
    });
    value(await world.k8s.apply(ref, sure("Mg==")));
    const stale = await world.k8s.apply(ref, sure("Mw=="));
    assert.ok(!stale.ok && stale.error.code === "refused");
    assert.equal(stale.error.status, 409);
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

  test("list gives every object of a kind, with labels those that have them", async (world) => {
    const { k8s, namespace } = world;
    const names = ["a", "b", "c", "d", "e"];
    for (const name of names) {
      const labels = { mine: name < "c" ? "yes" : "no" };
      value(await k8s.create(secretRef(world, name), secret(world, {}, labels, name)));
    }
    const ref = { apiVersion: "v1", resource: "secrets", namespace };
    const namesOf = (objects: readonly JsonObject[] | null) =>
      objects?.map((object) => metadata(object).name).sort();
    assert.deepEqual(namesOf(value(await k8s.list(ref))), names);
    assert.deepEqual(namesOf(value(await k8s.list(ref, { mine: "yes" }))), ["a", "b"]);
    assert.deepEqual(value(await k8s.list(ref, { mine: "maybe" })), []);
    const everywhere = { apiVersion: "v1", resource: "secrets" };
    assert.ok((namesOf(value(await k8s.list(everywhere))) ?? []).length >= names.length);
  });

  test("list gives null for a kind that the API does not have", async ({ k8s }) => {
    assert.equal(value(await k8s.list({ apiVersion: "v1", resource: "nosuchkind" })), null);
    const snapshots = { apiVersion: "k3s.cattle.io/v1", resource: "etcdsnapshotfiles" };
    assert.equal(value(await k8s.list(snapshots)), null);
  });

  test("list refuses a label that could widen what is selected", async (world) => {
    const ref = { apiVersion: "v1", resource: "secrets", namespace: world.namespace };
    for (const labels of [{ "a,b": "c" }, { a: "b,c" }, { a: "b c" }, { "!a": "b" }, { "": "" }]) {
      const bad = { status: 400, reason: "BadRequest" };
      assert.deepEqual(refused(await world.k8s.list(ref, labels as Labels)), bad);
    }
  });

  test("create makes an object once; again it is refused with 409 AlreadyExists", async (world) => {
    const made = value(await world.k8s.create(secretRef(world), secret(world, { a: "MQ==" })));
    assert.deepEqual(made["data"], { a: "MQ==" });
    assert.deepEqual(value(await world.k8s.get(secretRef(world))), made);
    const again = await world.k8s.create(secretRef(world), secret(world, { a: "Mg==" }));
    assert.deepEqual(refused(again), { status: 409, reason: "AlreadyExists" });
  });

  test("create of a token asks for one of a ServiceAccount that is there", async (world) => {
    const { k8s, namespace } = world;
    const ref = { apiVersion: "v1", resource: "serviceaccounts", namespace, name: "person" };
    const request = {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      spec: { expirationSeconds: 600 },
    };
    assert.equal(refused(await k8s.create(ref, request, "token")).status, 404);
    const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "person" } };
    value(await k8s.create(ref, account));
    const { status } = value(await k8s.create(ref, request, "token"));
    assert.ok(isJsonObject(status) && typeof status["token"] === "string");
    assert.ok(Date.parse(String(status["expirationTimestamp"])) > 0);
    const tooShort = { ...request, spec: { expirationSeconds: 1 } };
    assert.equal(refused(await k8s.create(ref, tooShort, "token")).status, 422);
  });

  test("remove deletes an object, and says whether there was one", async (world) => {
    const ref = secretRef(world);
    assert.equal(value(await world.k8s.remove(ref)), false);
    value(await world.k8s.create(ref, secret(world, {})));
    assert.equal(value(await world.k8s.remove(ref)), true);
    assert.equal(value(await world.k8s.get(ref)), null);
  });

  test("remove with a UID deletes that very object only", async (world) => {
    const ref = secretRef(world);
    const made = value(await world.k8s.create(ref, secret(world, {})));
    const other = { uid: "00000000-0000-4000-8000-ffffffffffff" };
    assert.deepEqual(refused(await world.k8s.remove(ref, other)), {
      status: 409,
      reason: "Conflict",
    });
    assert.equal(value(await world.k8s.remove(ref, { uid: metadata(made).uid })), true);
  });

  test("remove as it was read refuses an object that changed meanwhile", async (world) => {
    const ref = secretRef(world);
    const made = metadata(value(await world.k8s.create(ref, secret(world, {}))));
    const read = { uid: made.uid, resourceVersion: made.resourceVersion };
    const changed = metadata(value(await world.k8s.apply(ref, secret(world, { a: "MQ==" }))));
    assert.deepEqual(refused(await world.k8s.remove(ref, read)), {
      status: 409,
      reason: "Conflict",
    });
    const { resourceVersion } = changed;
    assert.equal(value(await world.k8s.remove(ref, { ...read, resourceVersion })), true);
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

/** The metadata of an object that the API gave. */
export function metadata(object: JsonObject): Metadata {
  return object["metadata"] as unknown as Metadata;
}

/** What went well; fails the test where it did not. */
export function value<T>(result: Result<T, K8sError>): T {
  assert.ok(result.ok, JSON.stringify(result));
  return result.value;
}

/** How the API said no; fails the test where it did not. */
export function refused(result: Result<unknown, K8sError>): { status: number; reason: string } {
  assert.ok(!result.ok && result.error.code === "refused", JSON.stringify(result));
  assert.notEqual(result.error.message, "");
  return { status: result.error.status, reason: result.error.reason };
}

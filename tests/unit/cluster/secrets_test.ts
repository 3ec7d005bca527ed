import assert from "node:assert/strict";
import {
  claimOfExtraKeys,
  etcdS3Secret,
  hcloudSecret,
  sameSecret,
} from "../../../core/cluster/secrets.ts";
import type { JsonObject } from "../../../core/json.ts";
import { decodeBase64 } from "../../../core/protocol/base64.ts";
import { Secret } from "../../../core/secret.ts";

const SETTINGS = { endpoint: "s3.example.org", bucket: "b", region: "eu", folder: "f" };

function text(object: JsonObject): Record<string, string> {
  const data = Object.entries(object["data"] as Record<string, string>);
  return Object.fromEntries(
    data.map(([key, value]) => [key, new TextDecoder().decode(decodeBase64(value) ?? undefined)]),
  );
}

function etcdS3(settings: Partial<Parameters<typeof etcdS3Secret>[0]> = {}): JsonObject {
  return etcdS3Secret({ ...SETTINGS, ...settings }, new Secret("ak"), new Secret("sk")).object;
}

Deno.test("hcloudSecret: kube-system/hcloud with the token, and the network where one is given", () => {
  const { ref, object } = hcloudSecret(new Secret("tökén"), "net");
  assert.deepEqual(ref, {
    apiVersion: "v1",
    resource: "secrets",
    namespace: "kube-system",
    name: "hcloud",
  });
  assert.deepEqual(object, {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "hcloud", namespace: "kube-system", labels: { "pbx.io/managed": "true" } },
    type: "Opaque",
    data: { token: "dMO2a8Opbg==", network: "bmV0" },
  });
  assert.deepEqual(text(hcloudSecret(new Secret("t")).object), { token: "t" });
});

Deno.test("etcdS3Secret: kube-system/pbx-etcd-s3 with the keys of k3s", () => {
  const { ref, object } = etcdS3Secret(SETTINGS, new Secret("ak"), new Secret("sk"));
  assert.equal(ref.name, "pbx-etcd-s3");
  assert.equal(object["type"], "etcd.k3s.cattle.io/s3-config-secret");
  assert.deepEqual(text(object), {
    "etcd-s3-endpoint": "s3.example.org",
    "etcd-s3-bucket": "b",
    "etcd-s3-region": "eu",
    "etcd-s3-folder": "f",
    "etcd-s3-access-key": "ak",
    "etcd-s3-secret-key": "sk",
  });
});

Deno.test("etcdS3Secret: the endpoint loses scheme and slash; http is said by etcd-s3-insecure", () => {
  const endpoint = (given: string) => {
    const data = text(etcdS3({ endpoint: given }));
    return [data["etcd-s3-endpoint"], data["etcd-s3-insecure"]];
  };
  assert.deepEqual(endpoint("https://s3.example.org/"), ["s3.example.org", undefined]);
  assert.deepEqual(endpoint("s3.example.org:9000/"), ["s3.example.org:9000", undefined]);
  assert.deepEqual(endpoint("http://127.0.0.1:9000"), ["127.0.0.1:9000", "true"]);
  assert.deepEqual(endpoint("http://[::1]:9000/"), ["[::1]:9000", "true"]);
});

Deno.test("etcdS3Secret: authority and bucket lookup only where they are given", () => {
  const data = text(etcdS3({ endpoint_ca: "-----BEGIN", bucket_lookup: "dns" }));
  assert.equal(data["etcd-s3-endpoint-ca"], "-----BEGIN");
  assert.equal(data["etcd-s3-bucket-lookup-type"], "dns");
  assert.ok(!Object.hasOwn(text(etcdS3()), "etcd-s3-endpoint-ca"));
});

Deno.test("sameSecret: what others add beside the data is no difference", () => {
  const wanted = etcdS3();
  const live = {
    ...wanted,
    metadata: {
      uid: "1",
      labels: { "pbx.io/managed": "true", "other": "label" },
      annotations: { a: "b" },
    },
  };
  assert.equal(sameSecret(live, wanted), true);
});

Deno.test("sameSecret: any other data, a missing label, another type or no object is a difference", () => {
  const wanted = hcloudSecret(new Secret("t")).object;
  const data = wanted["data"] as JsonObject;
  const others: (JsonObject | null)[] = [
    null,
    {},
    { ...wanted, data: { ...data, token: "AA==" } },
    { ...wanted, data: { ...data, extra: "AA==" } },
    { ...wanted, data: {} },
    { ...wanted, data: { extra: "AA==" } },
    { ...wanted, type: "other" },
    { ...wanted, metadata: { labels: {} } },
    { ...wanted, metadata: { labels: { "pbx.io/managed": "false" } } },
    { ...wanted, metadata: {} },
  ];
  for (const live of others) assert.equal(sameSecret(live, wanted), false, JSON.stringify(live));
  assert.equal(sameSecret(wanted, wanted), true);
});

Deno.test("claimOfExtraKeys: names the keys that are not wanted, each with another value", () => {
  const wanted = hcloudSecret(new Secret("t")).object;
  const data = wanted["data"] as JsonObject;
  const live = { ...wanted, data: { ...data, full: "AA==", empty: "" } };
  assert.deepEqual(claimOfExtraKeys(live, wanted), {
    ...wanted,
    data: { ...data, full: "", empty: "LQ==" },
  });
  for (const other of [null, {}, wanted, { ...wanted, data: {} }]) {
    assert.equal(claimOfExtraKeys(other, wanted), null);
  }
});

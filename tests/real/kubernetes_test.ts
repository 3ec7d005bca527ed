// needs: etcd kube-apiserver
import assert from "node:assert/strict";
import { createFakeClock } from "../../adapters/fake/clock.ts";
import { createFakeDisk, type FakeDisk } from "../../adapters/fake/disk.ts";
import { createNodeClock } from "../../adapters/node/clock.ts";
import { createNodeK8s, type NodeK8s } from "../../adapters/node/k8s.ts";
import { namespaceUid } from "../../core/cluster/kubernetes_facts.ts";
import { etcdS3Secret, hcloudSecret, sameSecret } from "../../core/cluster/secrets.ts";
import type { ObjectRef } from "../../core/ports/k8s.ts";
import { Secret } from "../../core/secret.ts";
import { k8sContract, type K8sWorld } from "../contract/k8s_contract.ts";
import { k8sDrainContract } from "../contract/k8s_drain_contract.ts";
import { auditOf } from "../lab/audit_log.ts";
import { makeAuthority } from "../lab/certificates.ts";
import { connectionsTo } from "../lab/connections.ts";
import { type KubeApi, startKubeApi } from "../lab/kube_api.ts";
import { putStatus } from "../lab/kube_status.ts";
import { witnessSecret } from "../lab/kube_witness.ts";

/** The API server that all tests of this suite share. */
const lab: { api?: KubeApi } = {};
const KUBECONFIG = "/etc/rancher/k3s/k3s.yaml";
const KUBE_SYSTEM: ObjectRef = { apiVersion: "v1", resource: "namespaces", name: "kube-system" };

function api(): KubeApi {
  assert.ok(lab.api, "the API server did not start");
  return lab.api;
}

Deno.test.beforeAll(async () => {
  lab.api = await startKubeApi({ audit: true });
});

Deno.test.afterAll(async () => await lab.api?.stop());

async function nodeDisk(): Promise<FakeDisk> {
  const disk = createFakeDisk();
  disk.put(KUBECONFIG, await Deno.readTextFile(api().kubeconfig));
  return disk;
}

async function client(options: { fieldManager?: string; version?: string } = {}): Promise<NodeK8s> {
  const { version = "1.2.3", ...manager } = options;
  return createNodeK8s({ disk: await nodeDisk(), clock: createNodeClock(), version, ...manager });
}

/** All that is asked of the port, on one adapter. */
function both(name: string, open: () => Promise<K8sWorld>): void {
  k8sContract(name, open);
  k8sDrainContract(name, open);
}

both("createNodeK8s on kube-apiserver", async () => {
  const k8s = await client();
  const namespace = `contract-${crypto.randomUUID()}`;
  const ref = { apiVersion: "v1", resource: "namespaces", name: namespace };
  const object = { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } };
  assert.ok((await k8s.apply(ref, object)).ok);
  return {
    k8s,
    namespace,
    writeAs: async (fieldManager, ref, object) => {
      const other = await client({ fieldManager });
      const answer = await other.apply(ref, object);
      other.close();
      assert.ok(answer.ok, JSON.stringify(answer));
    },
    setStatus: (ref, status) => putStatus(api(), ref, status),
    close: () => Promise.resolve(k8s.close()),
  };
});

Deno.test("hcloudSecret and etcdS3Secret: another client reads what was wanted", {
  // The witness keeps a connection for each of its calls.
  sanitizeResources: false,
  sanitizeOps: false,
}, async () => {
  const k8s = await client();
  const hcloud = hcloudSecret(new Secret("token-ü"), "network-1");
  const bucket = etcdS3Secret(
    {
      endpoint: "http://127.0.0.1:9000/",
      bucket: "snapshots",
      region: "eu",
      folder: "cluster",
      endpoint_ca: "-----BEGIN CERTIFICATE-----\n",
      bucket_lookup: "path",
    },
    new Secret("access"),
    new Secret("secret"),
  );
  for (const { ref, object } of [hcloud, bucket]) {
    const applied = await k8s.apply(ref, object);
    assert.ok(applied.ok && sameSecret(applied.value, object), JSON.stringify(applied));
  }
  k8s.close();

  assert.deepEqual(await witnessSecret(api(), "kube-system", "hcloud"), {
    type: "Opaque",
    labels: { "pbx.io/managed": "true" },
    managers: ["pbx-agent"],
    text: { token: "token-ü", network: "network-1" },
  });
  assert.deepEqual(await witnessSecret(api(), "kube-system", "pbx-etcd-s3"), {
    type: "etcd.k3s.cattle.io/s3-config-secret",
    labels: { "pbx.io/managed": "true" },
    managers: ["pbx-agent"],
    text: {
      "etcd-s3-endpoint": "127.0.0.1:9000",
      "etcd-s3-insecure": "true",
      "etcd-s3-bucket": "snapshots",
      "etcd-s3-region": "eu",
      "etcd-s3-folder": "cluster",
      "etcd-s3-access-key": "access",
      "etcd-s3-secret-key": "secret",
      "etcd-s3-endpoint-ca": "-----BEGIN CERTIFICATE-----\n",
      "etcd-s3-bucket-lookup-type": "path",
    },
  });
});

Deno.test("createNodeK8s: the audit log knows of reads alone where nothing was applied", async () => {
  const k8s = await client({ version: "reads-only" });
  assert.equal(await k8s.ready(), true);
  const found = await k8s.get(KUBE_SYSTEM);
  assert.ok(found.ok && found.value !== null && namespaceUid(found.value) !== null);
  assert.ok((await k8s.get({ ...KUBE_SYSTEM, name: "none" })).ok);
  k8s.close();
  const entries = await auditOf(api(), "pbx-agent/reads-only");
  assert.deepEqual(entries.map(({ verb, code }) => `${verb} ${code}`), [
    "get 200",
    "get 200",
    "get 404",
  ]);
});

Deno.test("createNodeK8s: the audit log names an apply as a patch by pbx-agent", async () => {
  const k8s = await client({ version: "one-write" });
  const { ref, object } = hcloudSecret(new Secret("token"));
  assert.ok((await k8s.apply(ref, object)).ok);
  k8s.close();
  const [entry, ...more] = await auditOf(api(), "pbx-agent/one-write");
  assert.deepEqual([entry?.verb, more.length], ["patch", 0]);
  assert.match(entry?.uri ?? "", /\/secrets\/hcloud\?fieldManager=pbx-agent&force=true$/);
});

Deno.test("createNodeK8s: 2,000 reads open no more connections than a few", async () => {
  const k8s = await client();
  // Other clients of this process may have left some open.
  const before = await connectionsTo(api().port);
  const counts = new Set<number>();
  for (let done = 1; done <= 2_000; done++) {
    assert.ok((await k8s.get(KUBE_SYSTEM)).ok);
    if (done % 100 === 0) counts.add(await connectionsTo(api().port) - before);
  }
  k8s.close();
  assert.ok(Math.max(...counts) <= 2, `connections seen: ${[...counts].join(", ")}`);
});

Deno.test("createNodeK8s: a server that stands still is unreachable at the deadline", async () => {
  const clock = createFakeClock();
  const k8s = createNodeK8s({ disk: await nodeDisk(), clock, version: "1.2.3" });
  assert.equal(await k8s.ready(), true);
  await api().pause();
  try {
    let ended = false;
    const calling = k8s.get(KUBE_SYSTEM).finally(() => {
      ended = true;
    });
    while (clock.pending().count === 0) await clock.settle();
    await clock.advance(9_999);
    assert.equal(ended, false);
    await clock.advance(1);
    const answer = await calling;
    assert.ok(!answer.ok && answer.error.code === "unreachable", JSON.stringify(answer));
    assert.match(answer.error.message, /no complete answer in 10000 ms/);

    const asking = k8s.ready();
    while (clock.pending().count === 0) await clock.settle();
    await clock.advance(5_000);
    assert.equal(await asking, false);
  } finally {
    api().resume();
  }
  assert.equal(await k8s.ready(), true, "it must be reachable again once it goes on");
  k8s.close();
});

Deno.test("createNodeK8s: a server of another authority is unreachable, and why is said", async () => {
  const disk = await nodeDisk();
  const stranger = await makeAuthority("stranger");
  const text = (disk.text(KUBECONFIG) ?? "")
    .replace(btoa(api().authority.cert), btoa(stranger.cert));
  disk.put(KUBECONFIG, text);
  const k8s = createNodeK8s({ disk, clock: createNodeClock(), version: "1.2.3" });
  assert.equal(await k8s.ready(), false);
  const answer = await k8s.get(KUBE_SYSTEM);
  assert.ok(!answer.ok && answer.error.code === "unreachable", JSON.stringify(answer));
  assert.match(answer.error.message, /certificate is from an unknown issuer/);

  disk.put(KUBECONFIG, await Deno.readTextFile(api().kubeconfig));
  assert.equal(await k8s.ready(), true, "a kubeconfig that was written anew must be taken");
  k8s.close();
});

// needs: etcd kube-apiserver kube-controller-manager
import assert from "node:assert/strict";
import { parse } from "yaml";
import { createFakeDisk } from "../../adapters/fake/disk.ts";
import { createNodeClock } from "../../adapters/node/clock.ts";
import { withoutProxyVariables } from "../../adapters/node/http_clients.ts";
import { createNodeK8s, type NodeK8s } from "../../adapters/node/k8s.ts";
import type { JsonObject, JsonValue } from "../../core/json.ts";
import { accessIssue } from "../../core/operations/access_issue.ts";
import { accessRevoke } from "../../core/operations/access_revoke.ts";
import type { AnyDefinition } from "../../core/operations/definition.ts";
import { openSealed } from "../../core/protocol/sealing.ts";
import { type KubeApi, startKubeApi } from "../lab/kube_api.ts";
import { type KubeControllers, startKubeControllers } from "../lab/kube_controllers.ts";
import { inCluster, kubeSystemUid } from "../lab/real_cluster.ts";
import { waitUntil } from "../lab/wait_until.ts";
import { accessOffer, identityKey, issued } from "../unit/operations/access.ts";
import { createMachine, type Machine } from "../unit/operations/machine.ts";
import { startToy } from "../unit/operations/toy.ts";

const lab: { api?: KubeApi; controllers?: KubeControllers; k8s?: NodeK8s; uid?: string } = {};
const WAIT = { timeoutMs: 60_000 };
const KUBECONFIG = "/etc/rancher/k3s/k3s.yaml";

function started<T>(part: T | undefined): T {
  assert.ok(part, "the lab did not start");
  return part;
}

Deno.test.beforeAll(async () => {
  lab.api = await startKubeApi();
  lab.controllers = await startKubeControllers(lab.api);
  const disk = createFakeDisk();
  disk.put(KUBECONFIG, await Deno.readTextFile(lab.api.kubeconfig));
  const k8s = lab.k8s = createNodeK8s({ disk, clock: createNodeClock(), version: "1.2.3" });
  await waitUntil("the roles and the certificate authority", async () => {
    const rbac = "rbac.authorization.k8s.io/v1";
    const role = await k8s.get({ apiVersion: rbac, resource: "clusterroles", name: "view" });
    const authority = await k8s.get({
      apiVersion: "v1",
      resource: "configmaps",
      namespace: "kube-system",
      name: "kube-root-ca.crt",
    });
    const uid = await kubeSystemUid(k8s);
    if (uid !== null) lab.uid = uid;
    const rules = role.ok ? role.value?.["rules"] : null;
    const ready = Array.isArray(rules) && rules.length > 0 && authority.ok && authority.value &&
      uid !== null;
    return ready ? true : undefined;
  }, WAIT);
});

Deno.test.afterAll(async () => {
  lab.k8s?.close();
  await lab.controllers?.stop();
  await lab.api?.stop();
});

/** Runs an operation on the real API, on a machine that is otherwise made of fakes. */
async function run(definition: AnyDefinition, params: JsonObject, machine = createRealMachine()) {
  const toy = await startToy(machine, definition, params);
  await toy.done;
  const { result } = toy.journal();
  return result;
}

/** A node of the real API's cluster, as its state says. */
function createRealMachine(): Machine {
  return inCluster(createMachine(() => ({ k8s: started(lab.k8s) })), started(lab.uid));
}

/** A kubeconfig in use: what the API answers whoever has it. */
async function issue(change: Record<string, JsonValue | undefined>) {
  const machine = createRealMachine();
  const result = await run(accessIssue, accessOffer(change).params, machine);
  assert.equal(result?.state, "succeeded", JSON.stringify(result));
  const box = String(result.output?.["sealed_kubeconfig"]);
  assert.ok(!openSealed(box, [identityKey(machine)]).ok, "it opens with the agent's key");
  const config = parse(issued(box));
  const { token } = config.users[0].user;
  const { cluster } = config.clusters[0];
  return {
    token,
    expiresAt: Date.parse(String(result.output?.["expires_at"])),
    /** The status that the API gives this token; its certificate is checked with the kubeconfig's. */
    async status(path: string, body?: JsonObject): Promise<number> {
      using client = withoutProxyVariables(() =>
        Deno.createHttpClient({ caCerts: [atob(cluster["certificate-authority-data"])] })
      );
      const answer = await fetch(started(lab.api).url + path, {
        client,
        method: body === undefined ? "GET" : "POST",
        headers: { "Authorization": `Bearer ${token}`, "Content-Type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      await answer.body?.cancel();
      return answer.status;
    },
  };
}

const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const OTHER_CONFIG_MAPS = "/api/v1/namespaces/kube-system/configmaps";
const SECRETS = "/api/v1/namespaces/default/secrets";
const ROLES = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings";
const NODES = "/api/v1/nodes";

function configMap(): JsonObject {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: `made-${crypto.randomUUID()}` },
  };
}

for (
  const [role, namespace, allowed] of [
    ["view", "default", {
      read: 200,
      write: 403,
      secrets: 403,
      roles: 403,
      other: 403,
      nodes: 403,
    }],
    ["edit", "default", {
      read: 200,
      write: 201,
      secrets: 200,
      roles: 403,
      other: 403,
      nodes: 403,
    }],
    ["admin", "default", {
      read: 200,
      write: 201,
      secrets: 200,
      roles: 200,
      other: 403,
      nodes: 403,
    }],
    ["view", undefined, {
      read: 200,
      write: 403,
      secrets: 403,
      roles: 403,
      other: 200,
      nodes: 403,
    }],
    [
      "cluster-admin",
      undefined,
      { read: 200, write: 201, secrets: 200, roles: 200, other: 200, nodes: 200 },
    ],
  ] as const
) {
  Deno.test(`access.issue: ${role} in ${namespace ?? "every namespace"} may what the role may`, async () => {
    const access = await issue({ role, namespace, person: "grace", lifetime_s: 600 });
    assert.deepEqual({
      read: await access.status(CONFIG_MAPS),
      write: await access.status(CONFIG_MAPS, configMap()),
      secrets: await access.status(SECRETS),
      roles: await access.status(ROLES),
      other: await access.status(OTHER_CONFIG_MAPS),
      nodes: await access.status(NODES),
    }, allowed);
    await run(accessRevoke, { person: "grace" });
  });
}

Deno.test("access.issue: the token lives as long as asked for, to a second", async () => {
  const before = Date.now();
  const { expiresAt, token } = await issue({ lifetime_s: 7_200, namespace: "default" });
  const lives = (expiresAt - before) / 1_000;
  assert.ok(lives >= 7_199 && lives <= 7_230, `${lives} s`);
  const claims = JSON.parse(
    atob(String(token.split(".")[1]).replaceAll("-", "+").replaceAll("_", "/")),
  );
  assert.equal(claims.exp * 1_000, expiresAt);
  await run(accessRevoke, { person: "ada" });
});

Deno.test("access.issue: a namespace that is not there fails it in plain words", async () => {
  const result = await run(accessIssue, accessOffer({ namespace: "no-such-namespace" }).params);
  assert.equal(result?.state, "failed");
  assert.match(result?.message ?? "", /rolebindings\/.*no-such-namespace/);
  await run(accessRevoke, { person: "ada" });
});

Deno.test("access.revoke: one person's token stops working, nobody else's; then everyone's", async () => {
  const ada = await issue({ person: "ada", namespace: "default" });
  const wide = await issue({ person: "ada", role: "admin" });
  const bob = await issue({ person: "bob", namespace: "default" });
  assert.equal(await ada.status(CONFIG_MAPS), 200);
  assert.equal(await wide.status(SECRETS), 200);

  assert.deepEqual((await run(accessRevoke, { person: "ada" }))?.output, { deleted: 2 });
  await waitUntil(
    "the end of ada's tokens",
    async () =>
      await ada.status(CONFIG_MAPS) === 401 && await wide.status(SECRETS) === 401 || undefined,
    WAIT,
  );
  assert.equal(await bob.status(CONFIG_MAPS), 200);

  // The same grant anew is another account: the old token stays dead.
  const anew = await issue({ person: "ada", namespace: "default" });
  assert.equal(await anew.status(CONFIG_MAPS), 200);
  assert.equal(await ada.status(CONFIG_MAPS), 401);

  assert.deepEqual((await run(accessRevoke, { everyone: true }))?.output, { deleted: 2 });
  await waitUntil(
    "the end of all tokens",
    async () =>
      await anew.status(CONFIG_MAPS) === 401 && await bob.status(CONFIG_MAPS) === 401 || undefined,
    WAIT,
  );
  assert.deepEqual((await run(accessRevoke, { everyone: true }))?.output, { deleted: 0 });
});

Deno.test("access.revoke: nothing of it is left in the API", async () => {
  await issue({ person: "ada", namespace: "default" });
  await issue({ person: "ada", role: "cluster-admin" });
  await run(accessRevoke, { everyone: true });
  const k8s = started(lab.k8s);
  for (
    const [apiVersion, resource] of [
      ["v1", "serviceaccounts"],
      ["rbac.authorization.k8s.io/v1", "rolebindings"],
      ["rbac.authorization.k8s.io/v1", "clusterrolebindings"],
    ] as const
  ) {
    const left = await k8s.list({ apiVersion, resource }, { "pbx.io/access": "true" });
    assert.ok(left.ok && left.value?.length === 0, resource);
  }
});

import assert from "node:assert/strict";
import { parse } from "yaml";
import type { JsonObject } from "../../../core/json.ts";
import { accessIssue } from "../../../core/operations/access_issue.ts";
import { accessRevoke } from "../../../core/operations/access_revoke.ts";
import { decodeBase64 } from "../../../core/protocol/base64.ts";
import { openSealed } from "../../../core/protocol/sealing.ts";
import { accessOffer, identityKey, issued, people, withAuthority } from "./access.ts";
import { clockMatrix, type CutCase, cutMatrix } from "./cut_matrix.ts";
import type { Machine } from "./machine.ts";
import { logOf, runToy } from "./toy.ts";

Deno.test("access.issue: a kubeconfig for the role and the time asked for, for the asker's key alone", async () => {
  const machine = withAuthority();
  const { params } = accessOffer({ role: "edit", namespace: "default", lifetime_s: 3_600 });
  const journal = await runToy(machine, accessIssue, params);
  assert.equal(journal.result?.state, "succeeded", JSON.stringify(journal.result));
  const { output } = journal.result;
  assert.deepEqual(Object.keys(output ?? {}).sort(), ["expires_at", "sealed_kubeconfig"]);
  assert.equal(
    Date.parse(String(output?.["expires_at"])) - machine.clock.now(),
    3_600_000,
  );

  const box = String(output?.["sealed_kubeconfig"]);
  assert.ok(!openSealed(box, [identityKey(machine)]).ok, "the agent cannot open it");
  const config = parse(issued(box));
  assert.equal(config.clusters[0].cluster.server, "https://demo.example.com:6443");
  assert.match(
    new TextDecoder().decode(
      decodeBase64(config.clusters[0].cluster["certificate-authority-data"]) ?? undefined,
    ),
    /^-----BEGIN CERTIFICATE-----\n/,
  );
  assert.equal(config.contexts[0].context.namespace, "default");
  assert.equal(config["current-context"], config.contexts[0].name);
  const { token } = config.users[0].user;
  assert.match(token, /^fake-token-edit-/);

  // The token is nowhere but in the box.
  const { operation, finished } = JSON.parse(
    machine.disk.text("/var/lib/pbx-agent/state.json") ?? "",
  );
  const told = JSON.stringify([journal, operation, finished]) + logOf(machine) + machine.log.text();
  assert.ok(!told.includes(token));
});

Deno.test("access.issue: without a namespace the role counts everywhere", async () => {
  const machine = withAuthority();
  const { params } = accessOffer({ role: "cluster-admin", namespace: undefined });
  const { result } = await runToy(machine, accessIssue, params);
  const config = parse(issued(String(result?.output?.["sealed_kubeconfig"])));
  assert.equal(config.contexts[0].context.namespace, undefined);
  const bindings = await machine.k8s.list(
    { apiVersion: "rbac.authorization.k8s.io/v1", resource: "clusterrolebindings" },
    { "pbx.io/person": "ada" },
  );
  assert.equal(bindings.ok && bindings.value?.length, 1);
});

Deno.test("access.issue: asked for twice, the same account and a token of its own each time", async () => {
  const machine = withAuthority();
  const tokens = new Set<string>();
  for (let round = 0; round < 2; round++) {
    const { result } = await runToy(machine, accessIssue, accessOffer({}).params);
    tokens.add(parse(issued(String(result?.output?.["sealed_kubeconfig"]))).users[0].user.token);
    // The portal has acknowledged it.
    const state = JSON.parse(machine.disk.text("/var/lib/pbx-agent/state.json") ?? "");
    machine.disk.put(
      "/var/lib/pbx-agent/state.json",
      JSON.stringify({ ...state, operation: null, finished: {} }),
    );
  }
  assert.equal(tokens.size, 2);
  assert.deepEqual(await people(machine), ["ada"]);
});

for (
  const [what, breakIt, message] of [
    ["the API down", { kind: "down" }, /namespaces\/pbx-access: the API is down/],
    [
      "a refusal",
      { kind: "status", status: 403, reason: "Forbidden" },
      /namespaces\/pbx-access: 403/,
    ],
  ] as const
) {
  Deno.test(`access.issue: ${what} fails it in plain words`, async () => {
    const machine = withAuthority();
    machine.k8s.breakWith(breakIt);
    const { result } = await runToy(machine, accessIssue, accessOffer({}).params);
    assert.equal(result?.state, "failed");
    assert.equal(result?.step, "ensure_sa");
    assert.match(result?.message ?? "", message);
  });
}

Deno.test("access.issue and access.revoke: an API that is away or in trouble for three minutes is waited for", async () => {
  const statuses = [429, 500, 503, 504].map((
    status,
  ) => ({ kind: "status", status, reason: "" } as const));
  for (const fault of [{ kind: "down" } as const, ...statuses] as const) {
    for (const definition of [accessIssue, accessRevoke]) {
      const machine = withAuthority();
      machine.k8s.breakWith(fault);
      void machine.clock.sleep(180_000).then(() => machine.k8s.breakWith(null));
      const params = definition === accessIssue ? accessOffer({}).params : { person: "ada" };
      const { result } = await runToy(machine, definition, params);
      assert.equal(result?.state, "succeeded", JSON.stringify(result));
    }
  }
});

Deno.test("access.issue: waits for the certificate authority that Kubernetes publishes after a restore", async () => {
  const machine = withAuthority();
  const path = "/api/v1/namespaces/kube-system/configmaps/kube-root-ca.crt";
  machine.k8s.drop(path);
  void machine.clock.sleep(60_000).then(() => withAuthority(machine));
  const { result } = await runToy(machine, accessIssue, accessOffer({}).params);
  assert.equal(result?.state, "succeeded", JSON.stringify(result));
});

Deno.test("access.issue: without the cluster's certificate authority no kubeconfig is made", async () => {
  const machine = withAuthority();
  machine.k8s.drop("/api/v1/namespaces/kube-system/configmaps/kube-root-ca.crt");
  const { result } = await runToy(machine, accessIssue, accessOffer({}).params);
  assert.equal(result?.step, "seal");
  assert.equal(result?.message, "ConfigMap kube-system/kube-root-ca.crt: is not there");
});

/** Access that one person has afterwards. */
function givenOnce(): CutCase<Machine> {
  return {
    setUp: withAuthority,
    offer: () => accessOffer({ namespace: "default" }),
    async assertEnd(machine, { result }) {
      const config = parse(issued(String(result.output?.["sealed_kubeconfig"])));
      assert.equal(config.contexts[0].context.namespace, "default");
      assert.deepEqual(await people(machine), ["ada"]);
    },
  };
}

Deno.test("access.issue: killed at every call, the next process ends it with one account", async () => {
  const cuts = await cutMatrix(givenOnce());
  assert.ok(cuts > 100, `${cuts} cuts`);
});

Deno.test("access.issue: whatever the clock shows at any call, it ends as with a clock that is right", async () => {
  const runs = await clockMatrix(givenOnce());
  assert.ok(runs > 30, `${runs} runs`);
});

/** A cluster where some people have access; `run` issues or revokes for it. */
async function withPeople(names: readonly string[]) {
  const machine = withAuthority();
  const run = async (definition: typeof accessIssue, params: JsonObject) => {
    const { result } = await runToy(machine, definition, params);
    const state = JSON.parse(machine.disk.text("/var/lib/pbx-agent/state.json") ?? "");
    machine.disk.put(
      "/var/lib/pbx-agent/state.json",
      JSON.stringify({ ...state, operation: null, finished: {} }),
    );
    return result;
  };
  for (const person of names) {
    await run(accessIssue, accessOffer({ person, namespace: "default" }).params);
    await run(accessIssue, accessOffer({ person, namespace: undefined }).params);
  }
  return { machine, run };
}

Deno.test("access.revoke: one person's accounts and bindings, nobody else's", async () => {
  const { machine, run } = await withPeople(["ada", "Ada", "ada.b"]);
  const result = await run(accessRevoke, { person: "ada" });
  assert.deepEqual(result, { state: "succeeded", output: { deleted: 2 } });
  assert.deepEqual(await people(machine), ["Ada", "Ada", "ada.b", "ada.b"]);
  assert.deepEqual(await people(machine, "rolebindings"), ["Ada", "ada.b"]);
  assert.deepEqual(await people(machine, "clusterrolebindings"), ["Ada", "ada.b"]);
});

Deno.test("access.revoke: everyone's, and nothing that access.issue did not make", async () => {
  const { machine, run } = await withPeople(["ada", "bob"]);
  const path = "/api/v1/namespaces/pbx-access/serviceaccounts/default";
  const account = {
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name: "default", namespace: "pbx-access" },
  };
  machine.k8s.write(path, account, "kube-controller-manager");
  assert.deepEqual(await run(accessRevoke, { everyone: true }), {
    state: "succeeded",
    output: { deleted: 4 },
  });
  assert.deepEqual(await people(machine), []);
  assert.deepEqual(await people(machine, "rolebindings"), []);
  assert.notEqual(machine.k8s.read(path), null);
});

Deno.test("access.revoke: what is gone already counts as done, where nobody ever had access too", async () => {
  const { run } = await withPeople(["ada"]);
  const nothing = { state: "succeeded", output: { deleted: 0 } };
  assert.deepEqual(await run(accessRevoke, { person: "nobody" }), nothing);
  assert.deepEqual((await run(accessRevoke, { everyone: true }))?.output, { deleted: 2 });
  assert.deepEqual(await run(accessRevoke, { everyone: true }), nothing);
  const fresh = await runToy(withAuthority(), accessRevoke, { everyone: true });
  assert.deepEqual(fresh.result, nothing);
});

Deno.test("access.revoke: killed at every call, nobody is left with access", async () => {
  await cutMatrix({
    setUp: async () => (await withPeople(["ada"])).machine,
    offer: () => ({ id: "op-1", kind: "access.revoke", params: { person: "ada" } }),
    async assertEnd(machine, { cut, result }) {
      assert.deepEqual(await people(machine), []);
      assert.deepEqual(await people(machine, "rolebindings"), []);
      assert.deepEqual(await people(machine, "clusterrolebindings"), []);
      const deleted = Number(result.output?.["deleted"]);
      assert.ok(cut === null ? deleted === 2 : deleted <= 2);
    },
  });
});

import assert from "node:assert/strict";
import { decodeBase64 } from "../../../core/protocol/base64.ts";
import type { JsonObject } from "../../../core/json.ts";
import { CONFIG_FILE, K3S_CONFIG_FILE, STATE_DIRECTORY } from "../../../core/state/paths.ts";
import type { World } from "./world.ts";

/**
 * Asserts all that a finished first start leaves (operations.md, First start), and no condition but
 * `may`.
 */
export async function assertStarted(world: World, may?: string): Promise<void> {
  const { disk, k8s, portal } = world;
  assert.equal(portal.portal.state.agents.size, 1, "enrolled exactly once");
  const [agent] = portal.portal.state.agents.values();
  assert.equal(world.stored(`${STATE_DIRECTORY}/identity.json`).binding.agent_id, agent?.id);
  assert.equal(world.stored().first_start, "done");
  assert.equal(world.lastReport().desired.revision, 1);
  assert.deepEqual(world.conditions().filter((code) => code !== may), []);

  const secrets = plainSecrets(world);
  assert.match(disk.text(K3S_CONFIG_FILE) ?? "", new RegExp(`^token: "${secrets.k3s}"$`, "m"));
  assert.equal(world.systemd.units.get("k3s.service")?.state, "active");
  assert.equal(world.systemd.units.get("k3s.service")?.enabled, true);
  assert.equal(secretData(world, "hcloud")["token"], secrets.hcloud);
  assert.equal(secretData(world, "pbx-etcd-s3")["etcd-s3-secret-key"], secrets.s3);
  const namespace = k8s.read("/api/v1/namespaces/kube-system")?.["metadata"] as JsonObject;
  assert.equal(world.stored().kube_system_uid, namespace["uid"]);

  const config = disk.text(CONFIG_FILE) ?? "";
  assert.equal(
    config,
    "# written by cloud-init\nportal: example.com\ncluster_id: demo\n" +
      "node_name: demo-1  # this node\n# the end\n",
  );
  for (const path of ownFiles(world)) {
    const stat = await disk.stat(path);
    assert.equal(stat.ok && stat.value?.mode, 0o600, path);
  }
  assert.deepEqual(disk.paths().filter((path) => path.endsWith(".tmp")), []);
}

/** The documents that the agent has written. */
export function ownFiles({ disk }: World): string[] {
  return disk.paths().filter((path) => /^\/(?:var\/lib|etc)\/(?:pbx-agent|rancher)\//.test(path));
}

/** The secrets of the cluster in clear, as its owner set them. */
export function plainSecrets({ portal }: World): { k3s: string; hcloud: string; s3: string } {
  // deno-lint-ignore no-explicit-any -- the portal holds it as plain JSON
  const { k3s, secrets } = portal.cluster.bootstrap as any;
  return {
    k3s: k3s.token.plain,
    hcloud: secrets.hcloud.token.plain,
    s3: secrets.etcd_s3.secret_key.plain,
  };
}

/** The decoded data of a Secret in kube-system; empty where there is none. */
export function secretData({ k8s }: World, name: string): Record<string, string> {
  const data = k8s.read(`/api/v1/namespaces/kube-system/secrets/${name}`)?.["data"] ?? {};
  return Object.fromEntries(
    Object.entries(data as JsonObject).map(([key, value]) => [
      key,
      new TextDecoder().decode(decodeBase64(String(value)) ?? new Uint8Array()),
    ]),
  );
}

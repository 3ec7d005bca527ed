import assert from "node:assert/strict";
import { PLAIN } from "./documents.ts";
import type { World } from "./world.ts";

/** What of a node must change as a whole or not at all. */
export interface Footprint {
  readonly config: string | null;
  readonly snapshots: string | null;
  readonly ingress: string | null;
  readonly registries: string | null;
  readonly manifests: string;
  readonly hcloud: string;
  readonly s3: string;
  /** Of state.json. */
  readonly desired: string;
  readonly identity: string | null;
}

const SECRETS = "/api/v1/namespaces/kube-system/secrets";
const MANIFESTS = "/var/lib/rancher/k3s/server/manifests/";

/** The node as it is now. */
export function footprintOf({ disk, k8s }: World): Footprint {
  const state = JSON.parse(disk.text("/var/lib/pbx-agent/state.json") ?? "{}");
  const data = (name: string) => JSON.stringify(k8s.read(`${SECRETS}/${name}`)?.["data"] ?? null);
  return {
    config: disk.text("/etc/rancher/k3s/config.yaml"),
    snapshots: disk.text("/etc/rancher/k3s/config.yaml.d/50-pbx-snapshots.yaml"),
    ingress: disk.text("/etc/rancher/k3s/config.yaml.d/50-pbx-ingress.yaml"),
    registries: disk.text("/etc/rancher/k3s/registries.yaml"),
    manifests: disk.paths().filter((path) => path.startsWith(MANIFESTS))
      .map((path) => `${path}\n${disk.text(path)}`).join("\n"),
    hcloud: data("hcloud"),
    s3: data("pbx-etcd-s3"),
    desired: JSON.stringify(state.desired ?? null),
    identity: disk.text("/var/lib/pbx-agent/identity.json"),
  };
}

/** Every path that an agent may ever write to, make or remove. */
const ALLOWED = [
  // bin: synced before what would put a program back is taken away.
  /^\/var\/lib\/pbx-agent(?:\/bin)?$/,
  /^\/var\/lib\/pbx-agent\/(?:identity|state|bootstrap|release)\.json(?:\.tmp)?$/,
  /^\/var\/lib\/pbx-agent\/state\.json\.unreadable$/,
  /^\/var\/lib\/pbx-agent\/history\.jsonl(?:\.1)?$/,
  /^\/var\/lib\/pbx-agent\/ops(?:\/[A-Za-z0-9][A-Za-z0-9_-]{0,63}\.log)?$/,
  /^\/etc\/pbx-agent(?:\/config\.yaml(?:\.tmp)?)?$/,
  /^\/etc\/rancher\/k3s(?:\/(?:config|registries)\.yaml(?:\.tmp)?)?$/,
  /^\/etc\/rancher\/k3s\/config\.yaml\.d(?:\/50-pbx-(?:snapshots|ingress)\.yaml(?:\.tmp)?)?$/,
  /^\/var\/lib\/rancher\/k3s\/server\/manifests(?:\/pbx-[a-z0-9-]{1,63}\.yaml(?:\.tmp)?)?$/,
];

/** No path beside these was touched, in whatever way. */
export function assertOnlyOwnPaths({ disk }: World): void {
  for (const { path, operation } of disk.writes()) {
    assert.ok(ALLOWED.some((pattern) => pattern.test(path)), `${operation} ${path}`);
  }
}

/** No secret in the log, in state.json, in the answer to the enrollment as stored, in `status`. */
export async function assertNoSecretShown(world: World): Promise<void> {
  const { keys } = JSON.parse(world.disk.text("/var/lib/pbx-agent/identity.json") ?? '{"keys":{}}');
  const words = [...Object.values(PLAIN), keys.signing, keys.sealing].filter(Boolean);
  const places = {
    log: world.log.text(),
    "state.json": world.disk.text("/var/lib/pbx-agent/state.json") ?? "",
    "bootstrap.json": world.disk.text("/var/lib/pbx-agent/bootstrap.json") ?? "",
    status: JSON.stringify(await world.status()),
  };
  for (const [place, text] of Object.entries(places)) {
    for (const word of words) assert.ok(!text.includes(word), `${place} shows a secret`);
  }
}

/** Larger than any state.json of an agent that keeps its bounds. */
const MAX_STATE_BYTES = 1024 * 1024;

/** state.json is small, whatever the portal says. */
export function assertSmallState({ disk }: World): void {
  const size = disk.text("/var/lib/pbx-agent/state.json")?.length ?? 0;
  assert.ok(size < MAX_STATE_BYTES, `state.json has ${size} characters`);
}

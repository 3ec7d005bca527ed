import assert from "node:assert/strict";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { createFakeServers } from "../../../adapters/fake/servers.ts";
import { FIRST_MANIFEST } from "../../../adapters/portal/first_manifest.ts";
import type { JsonObject } from "../../../core/json.ts";
import { BOOTSTRAP_FILE, CONFIG_FILE } from "../../../core/state/paths.ts";
import { assertStarted, plainSecrets } from "./started.ts";
import { configYaml, createWorld, type World, type WorldOptions } from "./world.ts";

const K3S_CONFIG = "/etc/rancher/k3s/config.yaml";
const ROOT = { name: "root", content: "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: r\n" };
/** By which the machine was taken over: k3s gives its API server a webhook of the attacker's. */
const EVIL = { "kube-apiserver-arg": ["authorization-mode=AlwaysAllow"] };

/** A first start whose answers are changed so, until the portal is mended. */
async function startWith(
  merge: JsonObject,
  options: WorldOptions = {},
  more = "",
): Promise<World> {
  const world = createWorld(options);
  world.disk.put(CONFIG_FILE, configYaml(world.portal.token()) + more);
  if (Object.keys(merge).length > 0) {
    world.portal.fault({ match: { path: "/enroll" }, count: null, action: { merge } });
  }
  world.start();
  await world.pass(70_000);
  return world;
}

function hash(text: string): string {
  return bytesToHex(sha256(utf8ToBytes(text)));
}

/** k3s has nothing, the token is there, the portal knows why and is asked again. */
async function assertHeld(world: World, code: string, shown: RegExp): Promise<void> {
  assert.equal(world.disk.text(K3S_CONFIG), null);
  assert.ok(!world.disk.paths().some((path) => path.startsWith("/var/lib/rancher/k3s/server/man")));
  assert.deepEqual(world.systemd.calls, []);
  assert.match(world.disk.text(CONFIG_FILE) ?? "", /enrollment_token/);
  assert.equal(world.stored().first_start, "configure");
  assert.ok(world.conditions().includes(code), world.conditions().join());
  const { conditions } = await world.status();
  assert.match(conditions.find((one) => one.code === code)?.message ?? "", shown);
  const asked = world.requests("/enroll");
  assert.ok(asked >= 3 && asked <= 8, `${asked} requests`);
}

/** The next answer is a good one: the same agent goes on, and the condition is gone. */
async function assertMended(world: World, code: string): Promise<void> {
  const before = world.stored(BOOTSTRAP_FILE).answer.agent_id;
  world.portal.portal.memory.faults.length = 0;
  await world.pass(400_000);
  await assertStarted(world);
  assert.ok(!world.conditions().includes(code));
  assert.equal(world.stored(BOOTSTRAP_FILE).answer.agent_id, before);
  assert.doesNotMatch(world.disk.text(CONFIG_FILE) ?? "", /enrollment_token/);
  assert.equal(world.portal.portal.state.agents.size, 1);
  await world.stop();
}

const REFUSED: readonly [JsonObject, string, RegExp][] = [
  [{ k3s: { config: EVIL } }, "k3s_config_refused", /kube-apiserver-arg.*AlwaysAllow/],
  [{ k3s: { config: { "data-dir": "/tmp/x" } } }, "k3s_config_refused", /data-dir.*\/tmp\/x/],
  [{ k3s: { config: { "kubelet-arg+": ["x=y"] } } }, "k3s_config_refused", /kubelet-arg\+/],
  [{ manifests: [ROOT] }, "unsigned_manifest", /manifest root/],
  [{ manifests: [FIRST_MANIFEST, ROOT] }, "unsigned_manifest", /manifest root/],
  [
    { manifests: [{ ...FIRST_MANIFEST, content: `${FIRST_MANIFEST.content}\n` }] },
    "unsigned_manifest",
    /manifest hcloud-cloud-controller-manager/,
  ],
];

for (const [merge, code, shown] of REFUSED) {
  Deno.test(`first config: ${code} for ${shown}, until the portal answers otherwise`, async () => {
    const world = await startWith(merge);
    await assertHeld(world, code, shown);
    await assertMended(world, code);
  });
}

Deno.test("first config: a refusal lasts over restarts, and each start asks once at once", async () => {
  const world = await startWith({ k3s: { config: EVIL } });
  for (let start = 0; start < 3; start++) {
    await world.stop();
    const before = world.requests("/enroll");
    world.start();
    await world.pass(3_000);
    assert.equal(world.requests("/enroll"), before + 1);
    assert.equal(world.disk.text(K3S_CONFIG), null);
    assert.ok((await world.status()).conditions.some(({ code }) => code === "k3s_config_refused"));
  }
  await assertMended(world, "k3s_config_refused");
});

Deno.test("first config: the keys that the release signs are allowed with their values", async () => {
  const config = { "kube-apiserver-arg": ["audit-log-maxage=7"] };
  for (const [asked, isSigned] of [[config, true], [EVIL, false]] as const) {
    const world = createWorld();
    const release = world.portal.portal.state.releases.get("1.0.0");
    assert.ok(release !== undefined);
    world.portal.portal.state.releases.set("1.0.0", {
      ...release,
      payload: {
        ...release.payload as JsonObject,
        k3s: { config: { "kube-apiserver-arg": [["audit-log-maxage=7"]] } },
      },
    });
    const merge = { k3s: { config: asked } };
    world.portal.fault({ match: { path: "/enroll" }, count: null, action: { merge } });
    world.start();
    await world.pass(70_000);
    assert.equal(world.disk.text(K3S_CONFIG) !== null, isSigned);
    await world.stop();
  }
});

Deno.test("first config: without release keys the list counts and no manifest does", async () => {
  const world = await startWith({}, { releaseKeys: [] });
  assert.equal(world.stored().first_start, "done");
  assert.ok(world.conditions().includes("unsigned_manifest"));
  assert.ok(!world.disk.paths().some((path) => /server\/manifests\/pbx-/.test(path)));
  await world.stop();

  const evil = await startWith({ k3s: { config: EVIL } }, { releaseKeys: [] });
  await assertHeld(evil, "k3s_config_refused", /kube-apiserver-arg/);
  await evil.stop();
});

Deno.test("first config: while the release's manifest is out of reach, k3s is not configured", async () => {
  const world = createWorld();
  world.portal.fault({ match: { path: "/releases/*" }, count: null, action: { status: 503 } });
  world.start();
  await world.pass(70_000);
  assert.equal(world.disk.text(K3S_CONFIG), null);
  assert.ok(world.conditions().includes("manifest_unavailable"));
  assert.ok(world.requests("/enroll") > 2, "another answer may name another release");
  world.portal.portal.memory.faults.length = 0;
  await world.pass(400_000);
  // The desired state may come after k3s was started; its drop-ins then wait for a window.
  await assertStarted(world, "k3s_restart_pending");
  assert.ok(!world.conditions().includes("manifest_unavailable"));
  await world.stop();
});

Deno.test("first config: k3s_token_sha256 is compared with the token's text", async () => {
  const wrong = await startWith({}, {}, `k3s_token_sha256: "${hash("another")}"\n`);
  await assertHeld(wrong, "pin_mismatch", /k3s\.token.*k3s_token_sha256/);
  assert.ok(!wrong.log.text().includes(plainSecrets(wrong).k3s));
  await wrong.stop();

  const world = createWorld();
  const pin = hash(plainSecrets(world).k3s);
  world.disk.put(CONFIG_FILE, `${configYaml(world.portal.token())}k3s_token_sha256: "${pin}"\n`);
  world.start();
  await world.pass(70_000);
  assert.equal(world.stored().first_start, "done");
  await world.stop();
});

/** A world whose servers serve this CA file, with the pin of a file. */
function withAuthority(served: string, pin: string, server: string | null) {
  const world = createWorld();
  const merge = server === null ? {} : { k3s: { config: { server } } };
  if (server !== null) {
    world.portal.fault({ match: { path: "/enroll" }, count: null, action: { merge } });
  }
  const more = `cluster_ca_sha256: "${hash(pin)}"\n`;
  world.disk.put(CONFIG_FILE, configYaml(world.portal.token()) + more);
  const asked: (string | null)[] = [];
  const shown = { file: served };
  world.start((ports) => ({
    ...ports,
    servers: createFakeServers({
      authority(url) {
        asked.push(url);
        return utf8ToBytes(shown.file);
      },
      look: () => null,
      isHealthy: () => false,
      remove: () => false,
    }),
  }));
  return { world, asked, shown };
}

Deno.test("first config: a joining server compares the CA file before k3s has the token", async () => {
  const server = "https://10.0.0.9:6443";
  const { world, asked, shown } = withAuthority("theirs", "ours", server);
  await world.pass(70_000);
  await assertHeld(world, "pin_mismatch", /10\.0\.0\.9.*cluster_ca_sha256/);
  assert.ok(asked.length > 0 && asked.every((url) => url === server));
  shown.file = "ours";
  await world.pass(400_000);
  assert.equal(world.stored().first_start, "done");
  await world.stop();
});

Deno.test("first config: a first server compares its own CA file before it writes", async () => {
  const { world, asked, shown } = withAuthority("theirs", "ours", null);
  await world.pass(70_000);
  assert.equal(world.stored().first_start, "write_secrets");
  assert.equal(world.k8s.writes(), 0);
  assert.ok(world.conditions().includes("pin_mismatch"));
  assert.ok(asked.every((url) => url === null));
  shown.file = "ours";
  await world.pass(70_000);
  assert.equal(world.stored().first_start, "done");
  assert.ok(!world.conditions().includes("pin_mismatch"));
  await world.stop();
});

Deno.test("first config: a token that the portal refuses three times is not shown again", async () => {
  const world = await startWith({ k3s: { config: EVIL } });
  world.portal.portal.memory.faults.length = 0;
  world.portal.fault({
    match: { path: "/enroll" },
    count: null,
    action: { status: 401 },
  });
  const before = world.requests("/enroll");
  await world.pass(3_600_000);
  assert.equal(world.requests("/enroll"), before + 3);
  assert.equal(world.disk.text(K3S_CONFIG), null);
  await world.stop();
});

import assert from "node:assert/strict";
import type { JsonObject } from "../../../core/json.ts";
import { createSettledWorld, type World } from "./world.ts";

/** What must stay as it was: the files that the agent wrote, and the cluster's objects. */
function shown({ disk, k8s, stored }: World): unknown {
  const files = disk.paths().filter((path) => path.startsWith("/etc/"));
  return {
    files: files.map((path) => [path, disk.text(path)]),
    secrets: ["hcloud", "pbx-etcd-s3"].map((name) =>
      k8s.read(`/api/v1/namespaces/kube-system/secrets/${name}`)?.["data"]
    ),
    desired: stored().desired,
  };
}

/** Offers a fault beside an operation, and tells how the newest report and the operation look then. */
async function offerFaulty(desire: (world: World) => void) {
  const world = await createSettledWorld();
  const before = shown(world);
  desire(world);
  const operation = world.portal.offer({ id: "op-1", kind: "no.such", params: {} });
  await world.pass(70_000);
  assert.deepEqual(shown(world), before);
  assert.equal(world.lastReport().desired.revision, 1);
  return { world, operation };
}

/** The portal mends its desired state, and everything is as it wants. */
async function assertMended(world: World, mend: (world: World) => void): Promise<void> {
  mend(world);
  world.portal.portal.memory.faults.length = 0;
  await world.pass(400_000);
  assert.deepEqual(world.conditions(), []);
  assert.equal(
    world.lastReport().desired.revision,
    (world.portal.cluster.desired.document as JsonObject)["revision"],
  );
  await world.stop();
}

Deno.test("desired: a fault in it is a condition, changes nothing, and holds back no operation", async () => {
  const window = { days: ["mon"], start: "02:00", minutes: 60 };
  const maintenance = (change: JsonObject) => ({
    maintenance: { timezone: "Europe/Berlin", windows: [{ ...window, ...change }] },
  });
  const snapshots = (change: JsonObject) => ({ host: { snapshots: change } });
  const faults: JsonObject[] = [
    { maintenance: { timezone: "Mars/Olympus" } },
    maintenance({ days: ["mo"] }),
    maintenance({ days: [] }),
    maintenance({ start: "24:00" }),
    maintenance({ minutes: 0 }),
    maintenance({ minutes: 1441 }),
    snapshots({ schedule: "* * * *" }),
    snapshots({ schedule: "61 * * * *" }),
    snapshots({ retention: 0 }),
    snapshots({ retention: 1001 }),
    snapshots({ compress: "yes" }),
    { host: { ingress: "nginx" } },
    { servers: 0 },
    { revision: -1 },
    { revision: "2" },
    { release: "../1.0.0" },
    { agent: { version: "" } },
    { secrets: { hcloud: { unknown_field: 1 } } },
    { addons: [{ name: "A", enabled: true, options: {} }] },
    { addons: null },
  ];
  for (const fault of faults) {
    const { world, operation } = await offerFaulty(({ portal }) => portal.desire(fault));
    const shown = JSON.stringify(fault);
    assert.deepEqual(world.conditions(), ["invalid_desired_state"], shown);
    assert.equal(operation.result?.state, "unsupported", shown);
    await world.stop();
  }
});

Deno.test("desired: once it is mended, the condition goes and it is applied", async () => {
  const { world } = await offerFaulty(({ portal }) => portal.desire({ servers: 0 }));
  await assertMended(world, ({ portal }) => portal.desire({ servers: 1 }));
});

Deno.test("desired: a secret in clear or one that does not open refuses the whole answer", async () => {
  const verbatim = (value: JsonObject) => ({ plain: null, verbatim: value });
  const box = { verbatim: { sealed: "AAAA" } };
  const table: [string, JsonObject][] = [
    ["unsealed_secret", { secrets: { hcloud: { token: "hunter2hunter2" } } }],
    ["unsealed_secret", { secrets: { hcloud: { token: verbatim({ sealed: 1 }) } } }],
    ["unsealed_secret", { secrets: { hcloud: { token: verbatim({}) } } }],
    ["unsealed_secret", { secrets: { etcd_s3: { access_key: "hunter2hunter2" } } }],
    ["unsealed_secret", {
      addons: [{
        name: "external-dns",
        enabled: true,
        options: {},
        secret_options: { api_token: "hunter2hunter2" },
      }],
    }],
    // Told although the rest is no desired state at all.
    ["unsealed_secret", { servers: "none", secrets: { hcloud: { token: "hunter2hunter2" } } }],
    ["undecryptable_secret", { secrets: { hcloud: { token: verbatim({ sealed: "AAAA" }) } } }],
    ["undecryptable_secret", {
      secrets: { etcd_s3: { secret_key: { plain: "x", to: btoa("k".repeat(32)) } } },
    }],
    ["undecryptable_secret", {
      addons: [{ name: "x", enabled: false, options: {}, secret_options: { a: box } }],
    }],
  ];
  for (const [code, fault] of table) {
    const { world, operation } = await offerFaulty(({ portal }) => portal.desire(fault));
    const shown = JSON.stringify(fault);
    assert.deepEqual(world.conditions(), [code], shown);
    assert.equal(operation.result, null, shown);
    assert.ok(!world.log.text().includes("hunter2"), shown);
    assert.ok(!JSON.stringify(world.reports()).includes("hunter2"), shown);
    await world.stop();
  }
});

Deno.test("desired: a secret in clear in the operation refuses the desired state beside it", async () => {
  for (const name of ["access_key", "secret_key", "token"]) {
    const world = await createSettledWorld();
    world.portal.desire({ host: { ingress: "none" } });
    const params = { [name]: "hunter2hunter2" };
    const operation = world.portal.offer({ id: "op-1", kind: "s3.verify", params });
    await world.pass(70_000);
    assert.deepEqual(world.conditions(), ["unsealed_secret"]);
    assert.equal(world.lastReport().desired.revision, 1);
    assert.equal(operation.result, null);
    // Without the operation the next answer is good.
    world.portal.portal.state.operations.length = 0;
    await world.pass(70_000);
    assert.deepEqual(world.conditions(), ["k3s_restart_pending"]);
    assert.equal(world.lastReport().desired.revision, 2);
    await world.stop();
  }
});

Deno.test("desired: an option that the release's template declares secret must not come in clear", async () => {
  const addon = { name: "external-dns", enabled: true };
  const { world, operation } = await offerFaulty(({ portal }) =>
    portal.desire({ addons: [{ ...addon, options: { domain: "a.b", api_token: "hunter2" } }] })
  );
  assert.deepEqual(world.conditions(), ["unsealed_secret"]);
  // Known only with the manifest: the operation beside it was taken.
  assert.equal(operation.result?.state, "unsupported");
  assert.ok(!world.log.text().includes("hunter2"));
  await assertMended(world, ({ portal }) => portal.desire({ addons: [] }));
});

Deno.test("desired: an older revision is accepted, the portal is the authority", async () => {
  const world = await createSettledWorld();
  world.portal.desire({ revision: 40 });
  await world.pass(70_000);
  assert.equal(world.lastReport().desired.revision, 40);
  world.portal.desire({ revision: 3, host: { ingress: "none" } });
  await world.pass(70_000);
  assert.equal(world.lastReport().desired.revision, 3);
  assert.match(
    world.disk.text("/etc/rancher/k3s/config.yaml.d/50-pbx-ingress.yaml") ?? "",
    /disable\+/,
  );
  await world.stop();
});

Deno.test("desired: null means as last reported, whatever stands beside it as its tag", async () => {
  for (const tag of ["", 7, null, { a: 1 }]) {
    const world = await createSettledWorld();
    world.portal.cluster.desired = { document: null, raw: true, tag };
    await world.pass(70_000);
    assert.equal((await world.status()).trouble, null, JSON.stringify(tag));
    assert.equal(world.lastReport().desired.revision, 1);
    await world.stop();
  }
});

Deno.test("desired: a tag beside a desired state is at most 128 printable characters, and comes back", async () => {
  const world = await createSettledWorld();
  const long = "~".repeat(128);
  world.portal.cluster.desired.tag = long;
  await world.pass(70_000);
  assert.equal(world.lastReport().desired.tag, long);
  for (const bad of ["", `${long}~`, "\u0007", "ä", 7, null]) {
    world.portal.cluster.desired.tag = bad;
    await world.pass(40_000);
    assert.equal((await world.status()).trouble?.code, "malformed_answer", JSON.stringify(bad));
    assert.equal(world.lastReport().desired.tag, long);
  }
  await world.stop();
});

Deno.test("desired: a fault that is taken back to what the agent has leaves no condition", async () => {
  const world = await createSettledWorld();
  const good = world.portal.cluster.desired;
  for (
    const fault of [{ servers: 0 }, { release: "9.9.9" }, { secrets: { hcloud: { token: 1 } } }]
  ) {
    world.portal.desire(fault);
    await world.pass(70_000);
    assert.equal(world.conditions().length, 1, JSON.stringify(fault));
    world.portal.cluster.desired = good;
    await world.pass(70_000);
    assert.deepEqual(world.conditions(), [], JSON.stringify(fault));
  }
  await world.stop();
});

Deno.test("operation: an expires_at that is no text is a wrong parameter, and holds back no desired state", async () => {
  const world = await createSettledWorld();
  for (const [index, expires_at] of [5, null, true, ["2026-01-01T00:00:00Z"], {}].entries()) {
    const id = `op-${index}`;
    world.portal.desire({ revision: 10 + index });
    const operation = world.portal.offer({ id, kind: "snapshot.save", params: {}, expires_at });
    await world.pass(70_000);
    assert.equal(operation.result?.code, "invalid_params", JSON.stringify(expires_at));
    assert.equal(world.lastReport().desired.revision, 10 + index);
  }
  await world.stop();
});

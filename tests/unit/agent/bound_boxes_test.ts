import assert from "node:assert/strict";
import type { JsonObject, JsonValue } from "../../../core/json.ts";
import { decodeBase64 } from "../../../core/protocol/base64.ts";
import { readBoxText } from "../../../core/protocol/bound_box.ts";
import { openWhole } from "../../../core/protocol/sealing.ts";
import { PUBLIC_KEYS_IN_SCRIPT } from "../../../core/protocol/public_keys.ts";
import { Secret } from "../../../core/secret.ts";
import {
  BOOTSTRAP_FILE as BOOTSTRAP,
  CONFIG_FILE,
  IDENTITY_FILE as IDENTITY,
  STATE_FILE as STATE,
} from "../../../core/state/paths.ts";
import { createSettledWorld, createWorld, type World } from "./world.ts";

const BUCKET = { endpoint: "s3.evil.example", bucket: "loot", region: "eu", folder: "f" };

/** The header of every box in a file, opened with the agent's own key. */
function positionsIn(world: World, path: string): (string | null)[] {
  const identity = world.stored(IDENTITY);
  const secretKey = new Secret(decodeBase64(identity.keys.sealing) ?? new Uint8Array());
  const key = { secretKey, publicKey: PUBLIC_KEYS_IN_SCRIPT.sealing(secretKey) };
  return boxesIn(world.stored(path)).map((box) => {
    const opened = openWhole(box, [key]);
    assert.ok(opened.ok);
    return readBoxText(opened.value).position;
  });
}

function boxesIn(value: JsonValue): string[] {
  if (Array.isArray(value)) return value.flatMap(boxesIn);
  if (typeof value !== "object" || value === null) return [];
  const { sealed } = value as { sealed?: unknown };
  return typeof sealed === "string"
    ? [sealed]
    : Object.values(value as JsonObject).flatMap(boxesIn);
}

/** A box as the portal sent it, unbound, for somebody to offer again elsewhere. */
const unbound = (plain: string) => ({ plain, unbound: true });

/** A portal that knows nothing of positions. */
async function oldPortalWorld(more = ""): Promise<World> {
  const world = createWorld();
  const cluster = [...world.portal.portal.state.clusters.values()][0];
  assert.ok(cluster !== undefined);
  const marked = (value: JsonValue): JsonValue =>
    Array.isArray(value)
      ? value.map(marked)
      : typeof value !== "object" || value === null
      ? value
      : "plain" in value
      ? { ...value, unbound: true }
      : Object.fromEntries(Object.entries(value).map(([key, item]) => [key, marked(item ?? null)]));
  cluster.bootstrap = marked(cluster.bootstrap as JsonValue) as typeof cluster.bootstrap;
  cluster.desired.document = marked(cluster.desired.document);
  if (more !== "") world.disk.put(CONFIG_FILE, `${world.disk.text(CONFIG_FILE)}${more}`);
  world.start();
  await world.pass(120_000);
  return world;
}

Deno.test("bound boxes: a portal that says it binds makes it a must, for good", async () => {
  const world = await createSettledWorld();
  assert.equal(world.stored(IDENTITY).bound_boxes, true);
  assert.equal(world.lastReport().node.trust?.boxes, "required");
  const before = world.stored().desired;
  world.portal.desire({ secrets: { hcloud: { token: unbound("a-token") } } });
  await world.pass(36_000);
  assert.deepEqual(world.conditions(), []);
  await world.pass(36_000);
  assert.deepEqual(world.conditions(), ["misplaced_secret"]);
  assert.deepEqual(world.stored().desired, before);
  assert.match(JSON.stringify(world.lastReport().conditions), /desired\.secrets\.hcloud\.token/);
  // The state file is lost, and with it nothing of this.
  await world.stop();
  world.disk.put(STATE, "");
  world.start();
  await world.pass(70_000);
  assert.ok(world.conditions().includes("misplaced_secret"));
  world.portal.desire({ secrets: { hcloud: { token: { plain: "a-token", unbound: false } } } });
  await world.pass(150_000);
  assert.equal(world.conditions().includes("misplaced_secret"), false);
  assert.equal(world.stored().desired.state.revision, 3);
  await world.stop();
});

Deno.test("bound boxes: no box that is stored is sent anywhere by s3.verify, whoever offers it", async () => {
  const bound = await createSettledWorld();
  const old = await oldPortalWorld();
  assert.equal(old.stored(IDENTITY).bound_boxes, undefined);
  assert.equal(old.lastReport().node.trust?.boxes, "off");
  for (const world of [bound, old]) {
    const agent = [...world.portal.portal.state.agents.values()][0];
    // What the portal has sent is what it may send again.
    const sent = [...world.portal.answers].flatMap(boxesIn);
    assert.ok(sent.length >= 4 && agent !== undefined, `${sent.length} boxes`);
    for (const [index, box] of [...new Set(sent)].entries()) {
      const params = {
        ...BUCKET,
        access_key: { verbatim: { sealed: box } },
        secret_key: { plain: "x" },
      };
      const operation = world.portal.offer({ id: `loot-${index}`, kind: "s3.verify", params });
      await world.pass(70_000);
      const isS3 = world === old && operation.result !== null;
      // Of an old portal's two S3 keys nobody can tell that they are for one bucket only.
      if (!isS3) {
        assert.deepEqual(world.conditions(), ["misplaced_secret"], `${index}`);
        assert.equal(operation.result, null);
        assert.equal(world.stored().operation, null);
      }
      world.portal.portal.state.operations.length = 0;
      await world.pass(70_000);
    }
    const refused = world.log.records().filter(({ event }) => event === "misplaced_secret").length;
    assert.ok(refused >= (world === old ? 2 : 4), `${refused}`);
    await world.stop();
  }
});

Deno.test("bound boxes: what is stored is bound, also from a portal that does not bind", async () => {
  const world = await oldPortalWorld();
  const expected = [
    "enroll:k3s.token",
    "enroll:secrets.hcloud.token",
    "enroll:secrets.etcd_s3.access_key",
    "enroll:secrets.etcd_s3.secret_key",
  ];
  assert.deepEqual(positionsIn(world, BOOTSTRAP).sort(), expected.toSorted());
  assert.ok(positionsIn(world, STATE).every((position) => position?.startsWith("desired:")));
  assert.equal(Object.keys(world.stored(BOOTSTRAP).boxes).length, 4);
  assert.match(world.disk.text("/etc/rancher/k3s/config.yaml") ?? "", /^token: "[0-9a-f]{40}"$/m);
  await world.stop();
});

Deno.test("bound boxes: require in config.yaml refuses the answer of a portal that does not bind", async () => {
  const world = await oldPortalWorld("require: [bound_boxes]\n");
  const { trouble } = await world.status();
  assert.equal(trouble?.code, "misplaced_secret");
  assert.equal(world.disk.text(BOOTSTRAP), null);
  await world.stop();
});

Deno.test("bound boxes: files of an earlier version are bound at the first start that syncs, once", async () => {
  const world = await oldPortalWorld();
  await world.stop();
  // As an earlier version left them: the boxes as they came, and no word of positions.
  const answer = world.portal.answers.find((one) =>
    JSON.stringify(one).includes("agent_token") ||
    JSON.stringify(one).includes('"k3s"')
  ) as JsonObject;
  const bootstrap = world.stored(BOOTSTRAP);
  const { boxes: _known, ...rest } = bootstrap;
  world.disk.put(
    BOOTSTRAP,
    JSON.stringify({ ...rest, answer: { ...rest.answer, k3s: answer["k3s"] } }),
  );
  const { stored_bound: _bound, ...identity } = world.stored(IDENTITY);
  world.disk.put(IDENTITY, JSON.stringify(identity));
  assert.ok(positionsIn(world, BOOTSTRAP).includes(null));

  world.portal.down = true;
  world.start();
  await world.pass(40_000);
  assert.ok(positionsIn(world, BOOTSTRAP).includes(null), "not before it has synced");
  world.portal.down = false;
  await world.pass(120_000);
  assert.ok(positionsIn(world, BOOTSTRAP).every((position) => position !== null));
  assert.equal(world.stored(IDENTITY).stored_bound, true);
  // And what they came as stays known: the k3s token is none for a bucket.
  const [box] = boxesIn(answer["k3s"] ?? null);
  const params = {
    ...BUCKET,
    access_key: { verbatim: { sealed: box ?? "" } },
    secret_key: { plain: "x" },
  };
  world.portal.offer({ id: "loot", kind: "s3.verify", params });
  await world.pass(70_000);
  assert.deepEqual(world.conditions(), ["misplaced_secret"]);
  await world.stop();
});

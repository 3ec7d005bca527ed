import assert from "node:assert/strict";
import { json } from "../../../adapters/portal/http/message.ts";
import { admitAgent } from "../../../adapters/portal/admit_agent.ts";
import { encodeBase64 } from "../../../core/protocol/base64.ts";
import { signingPublicKey } from "../../../core/protocol/signing.ts";
import { Secret } from "../../../core/secret.ts";
import { inWorld, type World } from "../../e2e/world.ts";
import { attacks, type OwnAgent } from "./attacks.ts";
import { type Attack, type Middle, startMiddle } from "./middle.ts";

const STATE = "/var/lib/pbx-agent";
const CONFIG = "/etc/pbx-agent/config.yaml";
const OWN: OwnAgent = { id: "agent-of-his", signing: new Secret(new Uint8Array(32).fill(0x55)) };

/** A world whose agent reaches its portal through the middle only. */
async function inMiddle(test: (world: World, middle: Middle) => Promise<void>): Promise<void> {
  const middle = await startMiddle();
  const through = (yaml: string) =>
    yaml.replace(
      /^portal: .*$/m,
      `portal: ${middle.origin}/agent/v1\nca_file: /etc/pbx-agent/ca.pem`,
    );
  try {
    await inWorld(async (world) => {
      middle.portal = world.running.url;
      await world.write("/etc/pbx-agent/ca.pem", middle.caPem, 0o644);
      await test(world, middle);
    }, { config: through });
  } finally {
    await middle.close();
  }
}

/** The portal knows an agent of the man in the middle, in the same cluster. */
function admitHis({ running, agents }: World): void {
  const [victim] = agents();
  admitAgent(running.portal, {
    id: OWN.id,
    clusterId: "demo",
    nodeName: victim?.nodeName ?? "demo-1",
    serverId: victim?.serverId ?? "1",
    arch: victim?.arch ?? "amd64",
    keys: {
      signing: encodeBase64(signingPublicKey(OWN.signing)),
      sealing: victim?.keys.sealing ?? encodeBase64(new Uint8Array(32).fill(9)),
    },
  });
}

/** All that an agent keeps, less what says that there is trouble and what time it is. */
async function kept(world: World): Promise<unknown> {
  const { channels: _c, trouble: _t, conditions: _o, clock: _k, ...state } = await world.state();
  const files = ["identity.json", "bootstrap.json"].map((name) => world.read(`${STATE}/${name}`));
  return { state, files: await Promise.all(files), config: await world.read(CONFIG) };
}

/** One start of the agent under the attack, until it has told and noted what came. */
async function suffer(world: World, middle: Middle, attack: Attack, code: string): Promise<void> {
  middle.attack = attack;
  const agent = world.start();
  await agent.event(code);
  await world.until("the trouble in state.json", async () => {
    const state = await world.state().catch(() => null);
    return (state?.["trouble"] as { code?: string } | null)?.code === code;
  });
  agent.kill("SIGKILL");
  await agent.ended();
}

Deno.test("a man in the middle of an enrolled agent can make it wait, and nothing else", async () => {
  await inMiddle(async (world, middle) => {
    const first = await world.startSynced();
    await first.stop();
    admitHis(world);
    await world.desire({ host: { snapshots: { retention: 77 } } });
    world.running.portal.state.operations.length = 0;
    const before = await kept(world);
    for (const [name, attack] of Object.entries(attacks(OWN))) {
      // What is replayed has to be had first, and is answered 503 itself.
      if (name === "true answers replayed") await suffer(world, middle, attack, "http_503");
      await suffer(world, middle, attack, "answer_unproven");
      assert.deepEqual(await kept(world), before, name);
      const { conditions } = await world.state();
      assert.ok(JSON.stringify(conditions).includes("answer_unproven"), name);
    }

    middle.attack = null;
    const agent = await world.startSynced();
    assert.deepEqual((await world.state())["trouble"], null);
    assert.ok(!JSON.stringify((await world.state())["conditions"]).includes("answer_unproven"));
    await agent.stop();

    // Last, because a wait outlives a restart.
    const wait = { ...json(429, {}), headers: { "retry-after": "3600" } };
    await suffer(world, middle, () => wait, "too_many_requests");
    const { channels } = await world.state() as {
      channels: { sync: { retry_after_until: string } };
    };
    const left = Date.parse(channels.sync.retry_after_until) - Date.now();
    assert.ok(left > 240_000 && left <= 300_000, `${left} ms`);
  });
});

Deno.test("a man in the middle of an enrollment can make it wait, and nothing else", async () => {
  await inMiddle(async (world, middle) => {
    const token = await world.read(CONFIG);
    const isForEnroll = ([name]: [string, Attack]) => !name.startsWith("true answers to another");
    for (const [name, attack] of Object.entries(attacks(OWN)).filter(isForEnroll)) {
      if (name === "true answers replayed") await suffer(world, middle, attack, "http_503");
      await suffer(world, middle, attack, "answer_unproven");
      assert.equal(await world.read(`${STATE}/bootstrap.json`).catch(() => null), null, name);
      const { enrollment, stage, clock_offset_ms } = await world.state();
      assert.deepEqual([enrollment, stage, clock_offset_ms], [null, "enrolling", 0], name);
      assert.equal(await world.read(CONFIG), token);
    }
    middle.attack = null;
    const agent = await world.startSynced();
    assert.equal(world.agents().length, 1);
    await agent.stop();
  });
});

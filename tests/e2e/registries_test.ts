import assert from "node:assert/strict";
import type { JsonObject } from "../../core/json.ts";
import type { SyncRequest } from "../../core/protocol/sync.ts";
import { inWorld, type World } from "./world.ts";

const FILE = "/etc/rancher/k3s/registries.yaml";
const PASSWORD = "mirror-password-that-nobody-may-see";
const REGISTRIES = {
  mirrors: { "docker.io": { endpoint: ["https://mirror.example.com"] } },
  configs: { "mirror.example.com": { username: "ada", password: { plain: PASSWORD } } },
};
const EVIL = { mirrors: { "docker.io": { endpoint: ["https://evil.example.com"] } } };
const DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const NEVER = { timezone: "UTC", windows: [] };
const ALWAYS = { timezone: "UTC", windows: [{ days: DAYS, start: "00:00", minutes: 1440 }] };

/** OpenSSH signs here as the owner does; where it is not installed that test is left out. */
const SSH_KEYGEN = "/usr/bin/ssh-keygen";

async function release(world: World, version: string, registries: readonly string[]) {
  const first = world.running.portal.state.releases.get("1.0.0");
  const payload = { ...first?.payload as JsonObject, version, k3s: { registries } };
  await world.admin("PUT", `/releases/${version}`, { payload });
  await world.desire({ release: version });
}

async function condition(world: World, code: string): Promise<string> {
  return await world.until(
    code,
    () =>
      world.report()?.conditions.find((one: SyncRequest["conditions"][number]) => one.code === code)
        ?.message ?? null,
  );
}

const file = (world: World) => world.read(FILE).catch(() => null);

Deno.test("registries: without approval_keys only those that the release names get to k3s", async () => {
  await inWorld(async (world) => {
    await world.desire({ maintenance: NEVER });
    const agent = await world.startSynced();
    await world.desire({ host: { registries: EVIL } });
    assert.match(await condition(world, "registries_refused"), /docker\.io/);
    await release(world, "1.1.0", ["docker.io", "mirror.example.com"]);
    await world.until(
      "the endpoint's name",
      async () => /evil\.example\.com/.test(await condition(world, "registries_refused")),
    );
    assert.equal(await file(world), null);

    await world.desire({ host: { registries: REGISTRIES } });
    assert.match(await condition(world, "k3s_restart_pending"), /registries\.yaml/);
    assert.match(
      await file(world) ?? "",
      /^# Managed by pbx-agent.*\n\nmirrors:\n {2}"docker\.io":/,
    );
    assert.match(await file(world) ?? "", new RegExp(`password: "${PASSWORD}"`));
    assert.equal(((await Deno.stat(world.root + FILE)).mode ?? 0) & 0o777, 0o600);
    const status = await world.cli("status");
    assert.deepEqual(JSON.parse(status.stdout).registries, {
      mirrors: { "docker.io": ["https://mirror.example.com"] },
      credentials: ["mirror.example.com"],
      file: "own",
    });
    const plan = await world.cli("plan", "--json");
    assert.deepEqual(JSON.parse(plan.stdout).host, []);

    await world.desire({ maintenance: ALWAYS });
    await world.until("the restart", () => world.report()?.pending.k3s_restart === false);
    assert.equal(
      (await world.node.systemctlCalls()).filter((call) => /^restart k3s/.test(call)).length,
      1,
    );
    for (const text of [status.stdout, plan.stdout, agent.stderr()]) {
      assert.equal(text.includes(PASSWORD), false);
    }
    await agent.stop();
  });
});

Deno.test({
  name: "registries: with approval_keys nobody but the owner says where images come from",
  ignore: !exists(SSH_KEYGEN),
  async fn() {
    const folder = await Deno.makeTempDir();
    const key = `${folder}/id`;
    await keygen("-q", "-t", "ed25519", "-N", "", "-C", "ada@example.com", "-f", key);
    await inWorld(async (world) => {
      const document = world.running.portal.state.clusters.get("demo")?.desired.document as {
        secrets: { etcd_s3: JsonObject };
      };
      const { endpoint, bucket, region, folder: at } = document.secrets.etcd_s3;
      const target = JSON.stringify({ endpoint, bucket, region, folder: at });
      const publicKey = (await Deno.readTextFile(`${key}.pub`)).trim();
      const trust = `approval_keys: ["${publicKey}"]\ns3_target: ${target}\n`;
      await world.write("/etc/pbx-agent/config.yaml", world.configYaml + trust);
      const agent = await world.startSynced();
      const accepted = JSON.parse(JSON.stringify(document));

      // That the release names them is not enough.
      await release(world, "1.1.0", ["docker.io", "mirror.example.com", "evil.example.com"]);
      await world.desire({ host: { registries: REGISTRIES } });
      await condition(world, "approval_missing");
      assert.equal(await file(world), null);

      const expires = new Date(Date.now() + 3_600_000).toISOString().replace(/\.\d+Z/, "Z");
      const node = world.agents()[0]?.nodeName ?? "";
      const ask = { node, expires, accepted };
      const { texts } = await world.admin("POST", "/clusters/demo/approval-text", ask) as {
        texts: { what: string; text: string }[];
      };
      const [{ what, text } = { what: "", text: "" }, ...others] = texts;
      assert.deepEqual([what, others], ["registries", []]);
      assert.match(
        text,
        /\nfrom: null\nto: \{"configs":\{"mirror\.example\.com":\{"password":\{"sealed":true\}/,
      );
      await Deno.writeTextFile(`${folder}/approval.txt`, text);
      await keygen("-Y", "sign", "-n", "pbx-approval", "-f", key, `${folder}/approval.txt`);
      const signature = await Deno.readTextFile(`${folder}/approval.txt.sig`);
      const approvals = [{ what, node, expires, signature }];
      await world.desire({ approvals });
      await world.until("the file", async () => (await file(world))?.includes(PASSWORD) === true);

      // Another password needs no approval, another mirror does, and the old signature is no help.
      const configs = { "mirror.example.com": { password: { plain: "another-password" } } };
      await world.desire({ host: { registries: { configs } }, approvals: null });
      await world.until(
        "the password",
        async () => (await file(world))?.includes("another-password") === true,
      );
      await world.desire({ host: { registries: EVIL }, approvals });
      await condition(world, "approval_invalid");
      assert.equal((await file(world))?.includes("evil"), false);
      await agent.stop();
    });
    await Deno.remove(folder, { recursive: true });
  },
});

async function keygen(...args: string[]): Promise<void> {
  const { code, stderr } = await new Deno.Command(SSH_KEYGEN, { args }).output();
  assert.equal(code, 0, new TextDecoder().decode(stderr));
}

function exists(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}

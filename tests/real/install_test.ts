// needs: root systemd-nspawn mmdebstrap ip
import assert from "node:assert/strict";
import { createNodeClock } from "../../adapters/node/clock.ts";
import { createNodeRandom } from "../../adapters/node/random.ts";
import { parseReleaseKeys } from "../../adapters/portal/release_keys.ts";
import { type RunningPortal, startPortal } from "../../adapters/portal/server.ts";
import { welcome } from "../../adapters/portal/welcome.ts";
import { hostArchitecture } from "../../cli/build/runtime.ts";
import { REPOSITORY } from "../../cli/build/repository.ts";
import { signingPublicKey } from "../../core/protocol/signing.ts";
import { makeBaseRoot } from "../lab/base_root.ts";
import { type Container, startContainer } from "../lab/container.ts";
import { buildDist } from "../lab/dist.ts";
import { waitUntil } from "../lab/wait_until.ts";

const CONFIG = "/etc/pbx-agent/config.yaml";
const UNIT = "pbx-agent.service";
const SEED = "var/lib/cloud/seed/nocloud";
/**
 * The network is the host's: cloud-init must not set it up. It works as it is but for modules that want
 * what a minimal root has not (SSH, locales), whose failures would hide one of ours.
 */
const CLOUD_INIT = `datasource_list: [NoCloud]
network: {config: disabled}
cloud_init_modules: [bootcmd, write-files]
cloud_config_modules: [runcmd]
cloud_final_modules: [scripts-user]
`;
const shared = { sanitizeOps: false, sanitizeResources: false };

/** What the tests of this suite hand on to one another: they are one story, in their order. */
const story: {
  machine?: Container;
  portal?: RunningPortal;
  server?: Deno.HttpServer<Deno.NetAddr>;
  script?: string;
  fetched: number;
  folder?: string;
  /** What the build made, and the script in it. */
  dist?: string;
} = { fetched: 0 };

function machine(): Container {
  assert.ok(story.machine, "the machine did not boot");
  return story.machine;
}

function url(): string {
  assert.ok(story.server);
  return `http://127.0.0.1:${story.server.addr.port}`;
}

function baseRoot(): Promise<string> {
  return makeBaseRoot(undefined, ["cloud-init", "curl", "ca-certificates"]);
}

async function agents(): Promise<readonly string[]> {
  const state = await fetch(`${story.portal?.adminUrl}/admin/state`);
  return Object.keys((await state.json()).agents);
}

Deno.test.beforeAll(async () => {
  story.folder = await Deno.makeTempDir({ prefix: "pbx-install-" });
  const dist = story.dist = `${story.folder}/dist`;
  const keys = parseReleaseKeys(
    await Deno.readTextFile(new URL("../../fixtures/lab-release-keys.json", import.meta.url)),
  );
  const built = await buildDist({
    sources: REPOSITORY,
    out: dist,
    releaseKeys: keys.map(signingPublicKey),
    more: ["--arch", hostArchitecture()],
  });
  assert.equal(built.code, 0, built.stderr);
  story.server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    story.fetched++;
    const name = new URL(request.url).pathname.slice(1);
    const file = await Deno.open(`${dist}/${name}`).catch(() => null);
    return file === null ? new Response(null, { status: 404 }) : new Response(file.readable);
  });
  story.portal = await startPortal({
    port: 0,
    stateDir: `${story.folder}/portal`,
    clock: createNodeClock(),
    random: createNodeRandom(),
    log: { write: () => {} },
    releaseKeys: keys,
  });
  story.script = await Deno.readTextFile(`${dist}/install.sh`);
  const given = String(welcome(story.portal)["config_yaml"]).trimEnd().replaceAll(/^/gm, "      ");
  // The lab's configuration has a line more than a server's: the place of the metadata service.
  const seed = (await Deno.readTextFile(`${dist}/user-data.yaml`))
    .replaceAll("@DOWNLOAD_URL@", url())
    .replace(/^ {6}portal:(.*\n){4}/m, `${given}\n`);
  story.machine = await startContainer({
    baseRoot: await baseRoot(),
    network: "host",
    prepare: async (root) => {
      await Deno.mkdir(`${root}/${SEED}`, { recursive: true });
      await Deno.writeTextFile(`${root}/${SEED}/user-data`, seed, { mode: 0o600 });
      await Deno.writeTextFile(`${root}/${SEED}/meta-data`, "instance-id: i-1\n");
      await Deno.writeTextFile(`${root}/etc/cloud/cloud.cfg.d/90_lab.cfg`, CLOUD_INIT);
    },
  });
});

Deno.test.afterAll(async () => {
  await story.machine?.stop();
  await story.portal?.close();
  await story.server?.shutdown();
  if (story.folder !== undefined) await Deno.remove(story.folder, { recursive: true });
});

Deno.test("install: cloud-init makes a fresh machine an enrolled node", shared, async () => {
  const status = await machine().exec(["cloud-init", "status", "--wait"], { timeoutMs: 120_000 });
  const log = await machine().exec(["tail", "-n", "40", "/var/log/cloud-init-output.log"]);
  assert.equal(status.code, 0, status.stdout + log.stdout);
  await waitUntil(
    "the enrollment",
    async () => (await agents()).length === 1 || undefined,
    { timeoutMs: 60_000 },
  );
  assert.equal((await machine().run(["systemctl", "is-enabled", UNIT])).trim(), "enabled");
  const modes = ["stat", "-c", "%a", "/etc/pbx-agent", CONFIG, "/var/lib/pbx-agent"];
  assert.equal(await machine().run(modes), "700\n600\n700\n");
});

Deno.test("install: the token is used, and gone from the configuration", shared, async () => {
  const config = await waitUntil("the token's end", async () => {
    const text = await machine().readFile(CONFIG);
    return text.includes("enrollment_token") ? undefined : text;
  }, { timeoutMs: 30_000 });
  assert.match(config, /^cluster_id:/m);
});

Deno.test(
  "install: the same script by hand changes nothing on a node that runs",
  shared,
  async () => {
    const pid = ["systemctl", "show", "--property=MainPID", UNIT];
    const before = [await machine().run(pid), await agents(), await machine().readFile(CONFIG)];
    const { fetched } = story;
    const run = ["sh", "-s", "--", "--url", url()];
    await machine().run(run, { stdin: story.script ?? "" });
    const after = [await machine().run(pid), await agents(), await machine().readFile(CONFIG)];
    assert.deepEqual(after, before);
    assert.equal(story.fetched, fetched);
  },
);

Deno.test("install: a machine of another cluster is left alone", shared, async () => {
  const other = (await machine().readFile(CONFIG)).replace(/^cluster_id:.*$/m, "cluster_id: other");
  await machine().writeFile("/root/other.yaml", other, 0o600);
  const run = ["sh", "-s", "--", "--url", url(), "--config", "/root/other.yaml"];
  const refused = await machine().exec(run, { stdin: story.script ?? "" });
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /of cluster 'other': nothing was changed/);
  assert.doesNotMatch(await machine().readFile(CONFIG), /other/);
});

Deno.test(
  "install: while one is under way the service makes way, and runs when it is over, killed or not",
  shared,
  async () => {
    const show = async (name: string) =>
      (await machine().run(["systemctl", "show", `--property=${name}`, "--value", UNIT])).trim();
    const hold = ["flock", "/run/pbx-agent-install.lock", "sleep", "600"];
    await machine().run(["systemd-run", "--unit=lab-installer", ...hold]);
    await machine().run(["systemctl", "restart", UNIT]);
    await waitUntil(
      "exit code 69",
      async () => (await show("ExecMainStatus")) === "69" || undefined,
      { timeoutMs: 60_000 },
    );
    // Twelve a minute would be a storm.
    assert.ok(Number(await show("NRestarts")) <= 1);
    await machine().run(["systemctl", "kill", "--signal=KILL", "lab-installer.service"]);
    await waitUntil("the service that runs", async () => {
      const log = await machine().run(["journalctl", "--unit", UNIT, "--lines=1", "--output=cat"]);
      return !log.includes("installation_under_way") && (await show("SubState")) === "running" ||
        undefined;
    }, { timeoutMs: 60_000 });
  },
);

Deno.test("install: uninstall takes away all that was installed", shared, async () => {
  await machine().run(["/var/lib/pbx-agent/bin/pbx-agent", "uninstall", "--yes"]);
  const owned = ["/var/lib/pbx-agent", "/etc/pbx-agent", `/etc/systemd/system/${UNIT}`];
  for (const path of owned) {
    assert.equal((await machine().exec(["test", "-e", path])).code, 1, path);
  }
  assert.notEqual((await machine().exec(["systemctl", "is-active", UNIT])).code, 0);
});

/** k3s as far as the first start sees of it. */
const K3S_UNIT = `[Service]
ExecStart=/usr/bin/sleep infinity

[Install]
WantedBy=multi-user.target
`;

/** What stays on the node: k3s's own files, and that it is started. */
const STAYS =
  /^(\/etc\/rancher(\/.*)?|\/var\/lib\/rancher(\/.*)?|\/etc\/systemd\/system\/multi-user\.target\.wants\/k3s\.service)$/;

Deno.test(
  "install: by hand on a machine that runs, and uninstalled: k3s's files stay, and nothing else",
  shared,
  async () => {
    const admin = `${story.portal?.adminUrl}`;
    const issued = await fetch(`${admin}/admin/tokens`, {
      method: "POST",
      body: JSON.stringify({ cluster_id: "second", node_name: "second-1", server_id: "4711002" }),
    });
    const { token } = await issued.json();
    const config = `portal: ${story.portal?.url}
cluster_id: second
node_name: second-1
enrollment_token: ${token}
metadata_url: ${admin}/metadata/server/4711002/hetzner/v1/metadata
`;
    await using second = await startContainer({
      baseRoot: await baseRoot(),
      network: "host",
      prepare: async (root) => {
        await Deno.writeTextFile(`${root}/etc/cloud/cloud-init.disabled`, "");
        await Deno.writeTextFile(`${root}/etc/systemd/system/k3s.service`, K3S_UNIT);
        await Deno.mkdir(`${root}/usr/local/bin`, { recursive: true });
        await Deno.writeTextFile(`${root}/usr/local/bin/k3s`, "", { mode: 0o755 });
      },
    });
    const before = await filesOf(second);
    await second.writeFile("/run/config.yaml", config, 0o600);
    const run = ["sh", "-s", "--", "--url", url(), "--config", "/run/config.yaml"];
    await second.run(run, { stdin: story.script ?? "" });
    await waitUntil("k3s to be started", async () => {
      return (await second.exec(["systemctl", "is-active", "k3s.service"])).code === 0 || undefined;
    }, { timeoutMs: 60_000 }).catch(async (error: unknown) => {
      throw new Error(`${error}\n${await second.run(["journalctl", "-u", UNIT, "-n", "20"])}`);
    });
    assert.equal((await agents()).length, 2);
    const during = differing(before, await filesOf(second));
    assert.ok(during.includes("/etc/pbx-agent/config.yaml"), during.join("\n"));

    await second.run(["/var/lib/pbx-agent/bin/pbx-agent", "uninstall", "--yes"]);
    const left = differing(before, await filesOf(second));
    assert.deepEqual(left.filter((path) => !STAYS.test(path)), []);
    assert.ok(left.includes("/etc/rancher/k3s/config.yaml"));
    const units = await second.run(["systemctl", "list-units", "--all", "--plain", "--no-legend"]);
    assert.doesNotMatch(units, /pbx/);
    assert.equal((await second.run(["systemctl", "is-active", "k3s.service"])).trim(), "active");
  },
);

/** Every file outside of logs and memory by its path: kind, mode, owner, size, time. */
async function filesOf(container: Container): Promise<ReadonlyMap<string, string>> {
  const outside = ["/proc", "/sys", "/dev", "/run", "/tmp", "/var/tmp", "/var/log"];
  const prune = outside.flatMap((path) => ["-path", path, "-o"]).slice(0, -1);
  // A folder's time says only that something in it came or went, which its content says better.
  const print = ["-type", "d", "-printf", "d %m %u %g\t%p\\n", "-o"];
  const rest = ["-printf", "%y %m %u %g %s %T@ %l\t%p\\n"];
  const command = ["find", "/", "-xdev", "(", ...prune, ")", "-prune", "-o", ...print, ...rest];
  const lines = (await container.run(command)).trimEnd().split("\n");
  return new Map(lines.map((line) => {
    const [what = "", path = ""] = line.split("\t");
    return [path, what] as const;
  }));
}

/** Paths that came, went or changed. */
function differing(
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
): readonly string[] {
  const paths = new Set([...before.keys(), ...after.keys()]);
  return [...paths].filter((path) => before.get(path) !== after.get(path)).sort();
}

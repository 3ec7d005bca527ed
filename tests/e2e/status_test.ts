import assert from "node:assert/strict";
import { runProgram } from "./program.ts";
import { secretsIn, secretsOf } from "./secrets.ts";
import { treeOf } from "./tree.ts";
import { each } from "./wait.ts";
import { inWorld, type World } from "./world.ts";

const STATE_DIRECTORY = "/var/lib/pbx-agent";

// deno-lint-ignore no-explicit-any -- what is printed, as a reader of the JSON meets it
type Printed = any;

/** What `status` prints as JSON; fails where it changes a file, tells a secret or ends badly. */
async function statusOf(world: World, what: string): Promise<Printed> {
  const secrets = await secretsOf(world);
  const before = await treeOf(world.root);
  const json = await world.cli("status");
  assert.deepEqual([json.code, json.stderr], [0, ""], what);
  assert.deepEqual(secretsIn(json.stdout, secrets), [], what);
  assert.equal(await treeOf(world.root), before, `${what}: status changed a file`);
  return JSON.parse(json.stdout);
}

/** What it prints for people, with the same demands. */
async function textOf(world: World, what: string): Promise<string> {
  const secrets = await secretsOf(world);
  const before = await treeOf(world.root);
  const text = await world.cli("status", "--text");
  assert.deepEqual([text.code, text.stderr], [0, ""], what);
  assert.deepEqual(secretsIn(text.stdout, secrets), [], what);
  assert.equal(await treeOf(world.root), before, `${what}: status changed a file`);
  return text.stdout;
}

Deno.test("status: before the first start, beside a running agent, after it, after an uninstallation", async () => {
  await inWorld(async (world) => {
    const fresh = await statusOf(world, "before the first start");
    assert.equal(fresh.stage, "unenrolled");
    assert.deepEqual([fresh.running, fresh.pid], [false, null]);
    assert.equal(fresh.enrollment_token, "present");
    assert.deepEqual([fresh.cluster_id, fresh.node_name, fresh.agent_id], ["demo", "demo-1", null]);

    const agent = await world.startSynced();
    // Beside it a file may change at any moment, so only what is said counts.
    const json = await world.cli("status");
    const running = JSON.parse(json.stdout);
    assert.deepEqual([running.running, running.pid], [true, agent.pid]);
    const text = (await world.cli("status", "--text")).stdout;
    assert.match(
      text,
      new RegExp(`^agent +pbx-agent [0-9.]+, running \\(process ${agent.pid}\\)$`, "m"),
    );
    assert.match(text, /^state +enrolled and syncing$/m);
    assert.match(text, /^node +demo-1 of cluster demo$/m);
    assert.match(text, /^desired +revision 1 of release 1\.0\.0/m);
    const secrets = await secretsOf(world);
    assert.deepEqual(secretsIn(text + json.stdout, secrets), []);

    await agent.stop();
    const stopped = await statusOf(world, "after its end");
    assert.equal(stopped.stage, "syncing");
    assert.equal(stopped.first_start, "done");
    assert.deepEqual([stopped.running, stopped.pid], [false, null]);
    assert.equal(stopped.enrollment_token, "absent");
    assert.equal(stopped.agent_id, world.agents()[0]?.id);
    assert.equal(stopped.desired.revision, 1);
    assert.equal(stopped.k3s_unit, "active");
    assert.deepEqual(stopped.problems, []);
    assert.match(await textOf(world, "after its end"), /not running/);

    assert.equal((await world.cli("uninstall", "--yes")).code, 0);
    const gone = await statusOf(world, "after the uninstallation");
    assert.deepEqual([gone.stage, gone.agent_id, gone.running], ["unenrolled", null, false]);
    assert.match(await textOf(world, "after the uninstallation"), /not enrolled/);
  });
});

Deno.test("status: on a machine where there is nothing at all", async () => {
  await inWorld(async (world) => {
    await Deno.remove(world.root, { recursive: true });
    const { code, stdout } = await world.cli("status");
    assert.equal(code, 0);
    assert.equal(JSON.parse(stdout).stage, "unenrolled");
    assert.equal(await Deno.stat(world.root).catch(() => null), null, "no folder is made");
  });
});

/** What happens to files. */
const DAMAGES: Readonly<Record<string, (text: string) => string>> = {
  "is empty": () => "",
  "breaks off": (text) => text.slice(0, Math.floor(text.length * 0.7)),
  "is garbage": () => "\u0000\u0001[{]: }\n\uFFFD",
  "is of the future": () => '{"format": 99}\n',
};

const FILES = ["identity.json", "state.json", "bootstrap.json", "lock"].map((name) =>
  `${STATE_DIRECTORY}/${name}`
).concat("/etc/pbx-agent/config.yaml");

Deno.test("status: says what it can when a file is gone, cut short or garbage", async () => {
  await inWorld(async (world) => {
    await (await world.startSynced()).stop();
    // One copy of the machine for each file, so that several can be looked at at once.
    await each(FILES, async (path) => {
      const root = await Deno.makeTempDir({ prefix: "pbx-e2e-status-" });
      try {
        await copyTree(world.root, root);
        const copy: World = {
          ...world,
          root,
          read: (file) => Deno.readTextFile(root + file),
          cli: (...args) => runProgram("cli/lab.ts", [...args, "--root", root]),
        };
        const secrets = await secretsOf(world);
        const whole = await copy.read(path);
        for (const [damage, change] of Object.entries(DAMAGES)) {
          await Deno.writeTextFile(root + path, change(whole));
          const what = `${path} ${damage}`;
          const status = await statusOf(copy, what);
          if (path.endsWith(".json")) {
            assert.match(status.problems.join("\n"), new RegExp(path.replace(/^.*\//, "")), what);
          }
          assert.deepEqual(secretsIn(JSON.stringify(status), secrets), [], what);
          if (damage === "breaks off") {
            assert.deepEqual(secretsIn(await textOf(copy, what), secrets), [], what);
          }
        }
      } finally {
        await Deno.remove(root, { recursive: true });
      }
    });
  });
});

Deno.test("status: takes the whole temporary file of a write that was cut short, and leaves both alone", async () => {
  await inWorld(async (world) => {
    await (await world.startSynced()).stop();
    for (const name of ["identity.json", "state.json"]) {
      const path = `${world.root}${STATE_DIRECTORY}/${name}`;
      await Deno.rename(path, `${path}.tmp`);
      await Deno.writeTextFile(path, "");
    }
    const status = await statusOf(world, "cut short");
    assert.deepEqual([status.stage, status.problems], ["syncing", []]);
    assert.equal(status.agent_id, world.agents()[0]?.id);
  });
});

async function copyTree(from: string, to: string): Promise<void> {
  const { success } = await new Deno.Command("cp", { args: ["-a", `${from}/.`, to] }).output();
  assert.ok(success);
}

import assert from "node:assert/strict";
import { treeOf } from "./tree.ts";
import { each, pause } from "./wait.ts";
import { inWorld, type World } from "./world.ts";

const UNIT = "/etc/systemd/system/pbx-agent.service";

/** What cloud-init and an update leave beside the agent's own files. */
async function installUnits(world: World): Promise<void> {
  await world.write(UNIT, "[Service]\nExecStart=/var/lib/pbx-agent/bin/pbx-agent run\n", 0o644);
  await world.write("/etc/systemd/system/pbx-agent-rollback.timer", "[Timer]\n", 0o644);
  await world.write("/etc/systemd/system/pbx-agent-return.timer", "[Timer]\n", 0o644);
  await world.write("/etc/systemd/system/pbx-agent-rollback.service", "[Service]\n", 0o644);
  await world.write("/etc/systemd/system/k3s.service.d/50-pbx-hold.conf", "[Unit]\n", 0o644);
  await world.write("/etc/systemd/system/other.service", "[Service]\n", 0o644);
  await world.write("/var/lib/pbx-agent/bin/pbx-agent", "#!/bin/sh\n", 0o755);
  await world.write("/var/lib/pbx-agent/ops/op-1.log", "line\n");
}

/** What must be there before and after, as text to compare. */
async function staying(world: World): Promise<string> {
  const parts = ["/etc/rancher", "/var/lib/rancher", "/usr", "/proc"].map((path) =>
    treeOf(world.root + path)
  );
  const secret = world.node.api()?.read("/api/v1/namespaces/kube-system/secrets/hcloud");
  return [...await Promise.all(parts), JSON.stringify(secret)].join("\n");
}

async function exists(world: World, path: string): Promise<boolean> {
  return await Deno.lstat(world.root + path).catch(() => null) !== null;
}

async function assertGone(world: World, what: string): Promise<void> {
  for (
    const path of [
      "/var/lib/pbx-agent",
      "/etc/pbx-agent",
      UNIT,
      "/etc/systemd/system/pbx-agent-rollback.timer",
      "/etc/systemd/system/pbx-agent-rollback.service",
      "/etc/systemd/system/pbx-agent-return.timer",
      "/etc/systemd/system/pbx-agent-return.service",
      "/etc/systemd/system/k3s.service.d/50-pbx-hold.conf",
    ]
  ) assert.equal(await exists(world, path), false, `${what}: ${path} is still there`);
}

Deno.test("uninstall: without --yes says what it would do and changes nothing", async () => {
  await inWorld(async (world) => {
    await (await world.startSynced()).stop();
    await installUnits(world);
    const before = await treeOf(world.root);
    const { code, stdout, stderr } = await world.cli("uninstall");
    assert.deepEqual([code, stderr], [0, ""]);
    for (const path of ["/var/lib/pbx-agent", "/etc/pbx-agent", UNIT, "pbx-agent-rollback.timer"]) {
      assert.ok(stdout.includes(path), path);
    }
    assert.match(stdout, /k3s.* stay/);
    assert.match(stdout, /--yes/);
    assert.equal(await treeOf(world.root), before);
  });
});

Deno.test("uninstall: --yes removes the agent, leaves k3s, and can be repeated", async () => {
  await inWorld(async (world) => {
    await (await world.startSynced()).stop();
    await installUnits(world);
    const before = await staying(world);
    const first = await world.cli("uninstall", "--yes");
    assert.deepEqual([first.code, first.stderr], [0, ""]);
    await assertGone(world, "once");
    assert.equal(await staying(world), before, "k3s's files and objects stay as they are");
    assert.equal(await exists(world, "/etc/systemd/system/other.service"), true);
    assert.equal(await world.node.unitState("k3s.service"), "active");
    const calls = await world.node.systemctlCalls();
    for (const unit of ["pbx-agent.service", "pbx-agent-rollback.timer"]) {
      for (const verb of ["stop", "disable"]) {
        assert.ok(calls.includes(`${verb} ${unit}`), `systemctl ${verb} ${unit}`);
      }
    }
    assert.ok(!calls.includes("stop k3s.service"));

    const second = await world.cli("uninstall", "--yes");
    assert.deepEqual([second.code, second.stderr], [0, ""]);
    assert.match((await world.cli("uninstall")).stdout, /not there/);
  });
});

const HOLD = "/var/lib/pbx-agent/hold-k3s";
const DROP_IN = "/etc/systemd/system/k3s.service.d/50-pbx-hold.conf";
const NOTE = "/var/lib/pbx-agent/k3s-is-held.txt";
const WHY = "cluster.restore op-1 holds k3s until its reset succeeded";

/** A node whose restore failed half-way. */
async function holdK3s(world: World): Promise<void> {
  await installUnits(world);
  await world.write(HOLD, `${WHY}\nkube-system of its cluster: the-uid\n`, 0o644);
}

Deno.test("uninstall: while k3s is held it refuses and changes nothing, and says what that means", async () => {
  await inWorld(async (world) => {
    await (await world.startSynced()).stop();
    await holdK3s(world);
    const before = await treeOf(world.root);
    const refused = await world.cli("uninstall", "--yes");
    assert.equal(refused.code, 1);
    for (const part of [HOLD, WHY, "docs/restore.md", "--leave-k3s-held", "nothing was changed"]) {
      assert.ok(refused.stderr.includes(part), part);
    }
    const dry = await world.cli("uninstall");
    assert.deepEqual([dry.code, dry.stderr], [0, ""]);
    assert.match(dry.stdout, /with --yes it would refuse: k3s is held/);
    assert.equal((await world.cli("uninstall", "--leave-k3s-held")).code, 0);
    const calls = (await world.node.systemctlCalls()).filter((call) => !/^is-active/.test(call));
    const after = await treeOf(world.root);
    const own = (tree: string) => tree.replaceAll(/^.*fake-systemd.*$/gm, "");
    assert.equal(own(after), own(before));
    assert.ok(!calls.includes("stop pbx-agent.service"));
  });
});

Deno.test("uninstall: --leave-k3s-held leaves the hold, its drop-in, the logs and a note, once and again", async () => {
  await inWorld(async (world) => {
    await (await world.startSynced()).stop();
    await holdK3s(world);
    const before = await staying(world);
    const dropIn = await Deno.readTextFile(world.root + DROP_IN);
    for (const turn of ["once", "again"]) {
      const { code, stderr } = await world.cli("uninstall", "--yes", "--leave-k3s-held");
      assert.deepEqual([code, stderr], [0, ""], turn);
      const left = await Array.fromAsync(
        Deno.readDir(`${world.root}/var/lib/pbx-agent`),
        ({ name }) => name,
      );
      const kept = ["history.jsonl", "hold-k3s", "k3s-is-held.txt", "ops"];
      assert.deepEqual(left.sort(), kept, turn);
      const history = JSON.parse((await world.cli("history", "--json")).stdout);
      assert.equal(history.at(-1).what, "uninstalled", turn);
      assert.equal(
        history.filter(({ what }: { what: string }) => what === "uninstalled").length,
        1,
      );
      assert.equal(await exists(world, "/var/lib/pbx-agent/ops/op-1.log"), true);
      assert.equal(await Deno.readTextFile(world.root + DROP_IN), dropIn, "it was there");
      for (const path of [UNIT, "/etc/pbx-agent", "/etc/systemd/system/pbx-agent-return.timer"]) {
        assert.equal(await exists(world, path), false, `${turn}: ${path} is still there`);
      }
      const note = await Deno.readTextFile(world.root + NOTE);
      for (const part of [WHY, "the-uid", "docs/restore.md", HOLD]) assert.ok(note.includes(part));
      assert.equal(await staying(world), before);
      assert.equal((await world.cli("uninstall", "--yes")).code, 1, "it is held still");
    }
    // Somebody has put the database right and lifted the hold.
    await Deno.remove(world.root + HOLD);
    assert.equal((await world.cli("uninstall", "--yes")).code, 0);
    await assertGone(world, "at the end");
  });
});

Deno.test("uninstall: a hold that cannot be read or that systemd does not heed is a hold", async () => {
  const holds: Readonly<Record<string, (world: World) => Promise<void>>> = {
    "a folder": (world) => Deno.mkdir(world.root + HOLD, { recursive: true }),
    "an empty file without the drop-in": async (world) => {
      await world.write(HOLD, "");
      await Deno.remove(world.root + DROP_IN);
    },
  };
  await each(Object.entries(holds), async ([what, hold]) => {
    await inWorld(async (world) => {
      await installUnits(world);
      await hold(world);
      assert.equal((await world.cli("uninstall", "--yes")).code, 1, what);
      const { code, stderr } = await world.cli("uninstall", "--yes", "--leave-k3s-held");
      assert.deepEqual([code, stderr], [0, ""], what);
      assert.equal(await exists(world, HOLD), true, what);
      assert.equal(await exists(world, DROP_IN), true, `${what}: without it nothing holds k3s`);
    });
  });
});

Deno.test("uninstall: an agent that is installed again finds the hold and does not start k3s", async () => {
  await inWorld(async (world) => {
    await world.write(DROP_IN, "[Unit]\n", 0o644);
    await world.write(HOLD, `${WHY}\n`, 0o644);
    assert.equal((await world.cli("uninstall", "--yes", "--leave-k3s-held")).code, 0);
    await world.write("/etc/pbx-agent/config.yaml", world.configYaml);
    const agent = world.start();
    await world.until("the agent syncs", () => (world.report()?.desired.revision ?? null) !== null);
    // The first start looks every 200 ms here.
    await pause(1_000);
    assert.deepEqual(
      (await world.node.systemctlCalls()).filter((call) => /^(start|restart) k3s/.test(call)),
      [],
    );
    await agent.stop();
  });
});

/** What an uninstallation may find. */
const LEFTOVERS: Readonly<Record<string, (world: World) => Promise<void>>> = {
  "a configuration alone": async () => {},
  "nothing": async (world) => {
    await Deno.remove(`${world.root}/etc/pbx-agent`, { recursive: true });
  },
  "a machine without systemd": async (world) => {
    await installUnits(world);
    await Deno.remove(`${world.root}/usr/bin/systemctl`);
  },
  "broken files": async (world) => {
    await installUnits(world);
    for (const name of ["identity.json", "state.json", "bootstrap.json.tmp", "lock"]) {
      await world.write(`/var/lib/pbx-agent/${name}`, "\u0000{", 0o400);
    }
    await world.write("/etc/pbx-agent/config.yaml", "portal: [");
  },
  "files and folders that are read-only": async (world) => {
    await installUnits(world);
    for (const path of ["/ops/op-1.log", "/ops", "/bin", ""]) {
      await Deno.chmod(`${world.root}/var/lib/pbx-agent${path}`, 0o400);
    }
    await Deno.chmod(`${world.root}${UNIT}`, 0o400);
  },
  "a file where the state directory should be": async (world) => {
    await world.write("/var/lib/pbx-agent", "");
  },
  "links that lead out": async (world) => {
    await installUnits(world);
    await Deno.symlink("/usr/local", `${world.root}/var/lib/pbx-agent/out`);
    await Deno.symlink(`${world.root}/usr/local`, `${world.root}/var/lib/pbx-agent/in`);
    await Deno.symlink("/nowhere", `${world.root}/etc/pbx-agent/dangling`);
  },
};

Deno.test("uninstall: works on whatever an installation left, broken or half done", async () => {
  await each(Object.entries(LEFTOVERS), async ([what, leave]) => {
    await inWorld(async (world) => {
      await leave(world);
      const before = await staying(world);
      const { code, stderr } = await world.cli("uninstall", "--yes");
      assert.deepEqual([code, stderr], [0, ""], what);
      await assertGone(world, what);
      assert.equal(await staying(world), before, what);
    });
  });
});

Deno.test("uninstall: an agent that systemd does not know is told of, not passed over", async () => {
  await inWorld(async (world) => {
    const agent = await world.startSynced();
    const { code, stderr } = await world.cli("uninstall", "--yes");
    assert.equal(code, 1);
    assert.match(stderr, new RegExp(`still runs.*${agent.pid}`));
    await agent.stop();
    assert.equal((await world.cli("uninstall", "--yes")).code, 0);
    await assertGone(world, "after its end");
  });
});

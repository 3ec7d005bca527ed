import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { onPath } from "../lab/command.ts";
import { UNIT } from "../../cli/build/templates/unit.ts";
import {
  CONFIG,
  inInstallWorld,
  INSTALLED,
  type InstallWorld,
  PACKED,
  PROGRAM,
  program,
} from "./install_world.ts";
import { namesIn, treeOf } from "./tree.ts";

const CONFIG_FILE = "/etc/pbx-agent/config.yaml";
const IDENTITY = "/var/lib/pbx-agent/identity.json";
const AGENT = "/var/lib/pbx-agent/bin/pbx-agent";
const UNIT_FILE = "/etc/systemd/system/pbx-agent.service";
const ENABLED = "daemon-reload\nenable pbx-agent.service\n";

const ignore = !await onPath("curl") && !await onPath("wget");

/** A test, where the machine has what the script downloads with. */
function check(name: string, fn: () => Promise<void>): void {
  Deno.test({ name, fn, ignore });
}

function identity(cluster: string, node: string): string {
  const binding = { agent_id: "a1", cluster_id: cluster, node_name: node };
  return `${JSON.stringify({ format: 1, binding, keys: {} }, null, 2)}\n`;
}

async function mode(world: InstallWorld, path: string): Promise<string> {
  return (((await Deno.stat(world.root + path)).mode ?? 0) & 0o777).toString(8);
}

/** Runs it where it has to refuse, and shows that it left everything as it was. */
async function refuses(world: InstallWorld, config: string | undefined, why: RegExp) {
  const before = await treeOf(world.root + "/etc") + await treeOf(world.root + "/var");
  const { code, stderr } = await world.install(config);
  assert.equal(code, 1, stderr);
  assert.match(stderr, why);
  assert.equal(await treeOf(world.root + "/etc") + await treeOf(world.root + "/var"), before);
  assert.equal(await world.systemctl(), "");
}

check("install: configuration, unit and program are in place, the service is started", async () => {
  await inInstallWorld(async (world) => {
    const { code, stderr } = await world.install(CONFIG);
    assert.equal(code, 0, stderr);
    assert.equal(await world.read(CONFIG_FILE), CONFIG);
    assert.deepEqual(await Deno.readFile(world.root + AGENT), PROGRAM);
    assert.equal((await world.read(UNIT_FILE)).replaceAll(world.root, ""), UNIT);
    const modes = {
      "/etc/pbx-agent": "700",
      [CONFIG_FILE]: "600",
      "/var/lib/pbx-agent": "700",
      [AGENT]: "755",
      [UNIT_FILE]: "644",
    };
    for (const [path, expected] of Object.entries(modes)) {
      assert.equal(await mode(world, path), expected, path);
    }
    assert.equal(await world.systemctl(), `${ENABLED}restart pbx-agent.service\n`);
    const names = await namesIn(`${world.root}/var/lib/pbx-agent/bin`);
    assert.deepEqual(names, ["pbx-agent"], "nothing else stays there");
  });
});

check("install: the configuration is nobody else's to read at any moment", async () => {
  await inInstallWorld(async (world) => {
    await world.install(CONFIG);
    // Each file's mode before it is narrowed, in the order of the calls.
    const seen = (await world.read("/modes.log")).split("\n");
    const modes = seen.filter((line) => line.includes("config.yaml")).map((line) =>
      line.split(" ")[0]
    );
    assert.deepEqual(modes, ["600", "600"]);
  });
});

check("install: a program that was left on a machine without an identity is replaced", async () => {
  await inInstallWorld(async (world) => {
    await world.write(AGENT, new TextDecoder().decode(program("0.0.1")), 0o755);
    assert.equal((await world.install(CONFIG)).code, 0);
    assert.deepEqual(await Deno.readFile(world.root + AGENT), PROGRAM);
  });
});

check("install: again changes nothing, fetches nothing and restarts nothing", async () => {
  await inInstallWorld(async (world) => {
    await world.install(CONFIG);
    await world.systemctl();
    const { code } = await world.install(CONFIG);
    assert.equal(code, 0);
    assert.equal(world.fetched.length, 1);
    assert.equal(await world.systemctl(), `${ENABLED}start pbx-agent.service\n`);
  });
});

check(
  "install: on an enrolled node neither the used token nor an older program comes back",
  async () => {
    await inInstallWorld(async (world) => {
      const used = CONFIG.replace(/enrollment_token.*\n/, "");
      await world.write(CONFIG_FILE, used);
      await world.write(IDENTITY, identity("c1", "n1"));
      await world.write(AGENT, new TextDecoder().decode(program("10.0.0")), 0o755);
      const { code, stderr } = await world.install(CONFIG);
      assert.equal(code, 0, stderr);
      assert.equal(await world.read(CONFIG_FILE), used);
      assert.match(await world.read(AGENT), /10\.0\.0/);
      assert.deepEqual(world.fetched, []);
    });
  },
);

check(
  "install: on an enrolled node the unit is replaced, and the agent restarted by nobody",
  async () => {
    await inInstallWorld(async (world) => {
      await world.write(IDENTITY, identity("c1", "n1"));
      await world.write(CONFIG_FILE, CONFIG);
      await world.write(AGENT, new TextDecoder().decode(program("10.0.0")), 0o755);
      await world.write(UNIT_FILE, "[Service]\nProtectHome=yes\n", 0o644);
      const { code, stdout } = await world.install();
      assert.equal(code, 0);
      assert.match(stdout, /until it is restarted: 'systemctl restart pbx-agent\.service'/);
      assert.equal((await world.read(UNIT_FILE)).replaceAll(world.root, ""), UNIT);
      assert.equal(await world.systemctl(), `${ENABLED}start pbx-agent.service\n`);
      assert.doesNotMatch((await world.install()).stdout, /restarted/);
    });
  },
);

check("install: where keys wait for their enrollment, a new unit is used at once", async () => {
  await inInstallWorld(async (world) => {
    await world.install(CONFIG);
    await world.write(UNIT_FILE, "[Service]\n", 0o644);
    await world.systemctl();
    await world.install(CONFIG);
    assert.equal(await world.systemctl(), `${ENABLED}restart pbx-agent.service\n`);
  });
});

check("install: on an enrolled node a program that does not run is replaced", async () => {
  await inInstallWorld(async (world) => {
    await world.write(IDENTITY, identity("c1", "n1"));
    await world.write(AGENT, "#!/bin/sh\nexit 1\n", 0o755);
    assert.equal((await world.install(CONFIG)).code, 0);
    assert.match(await world.read(AGENT), new RegExp(INSTALLED));
  });
});

check("install: a machine of another cluster or node is left alone, by name", async () => {
  for (const [cluster, node] of [["c2", "n1"], ["c1", "n2"]] as const) {
    await inInstallWorld(async (world) => {
      await world.write(IDENTITY, identity(cluster, node));
      await world.write(CONFIG_FILE, CONFIG.replace("c1", cluster));
      const why = new RegExp(
        `node '${node}' of cluster '${cluster}', not node 'n1' of cluster 'c1'`,
      );
      await refuses(world, CONFIG, why);
    });
  }
});

check("install: an identity that cannot be read is no free machine", async () => {
  for (const text of ["", "{", '{"format": 1}']) {
    await inInstallWorld(async (world) => {
      await world.write(IDENTITY, text);
      await refuses(world, CONFIG, /cannot be read: nothing was changed/);
    });
  }
});

check("install: the temporary file of a lost identity counts", async () => {
  await inInstallWorld(async (world) => {
    await world.write(`${IDENTITY}.tmp`, identity("c2", "n1"));
    await refuses(world, CONFIG, /of cluster 'c2'/);
  });
});

check("install: keys without a binding are kept and the installation goes on", async () => {
  await inInstallWorld(async (world) => {
    const text = '{"format": 1, "binding": null, "keys": {}}';
    await world.write(IDENTITY, text);
    assert.equal((await world.install(CONFIG)).code, 0);
    assert.equal(await world.read(IDENTITY), text);
    assert.equal(await world.read(CONFIG_FILE), CONFIG);
  });
});

check("install: a program with another hash never gets its name", async () => {
  await inInstallWorld(async (world) => {
    world.serve(new Uint8Array(gzipSync(program("6.6.6"))));
    const { code, stderr } = await world.install(CONFIG);
    assert.equal(code, 1);
    assert.match(stderr, /is not the program of this build/);
    assert.deepEqual(await namesIn(`${world.root}/var/lib/pbx-agent/bin`), []);
    assert.equal(await world.systemctl(), "", "nothing is started");
  });
});

check("install: a server that is busy and a download that is cut are tried again", async () => {
  await inInstallWorld(async (world) => {
    world.serve(null, PACKED.slice(0, 20), PACKED);
    const { code, stderr } = await world.install(CONFIG);
    assert.equal(code, 0, stderr);
    assert.equal(world.fetched.length, 3);
    assert.deepEqual(await Deno.readFile(world.root + AGENT), PROGRAM);
  });
});

check("install: an existing machine needs no --config, but a configuration", async () => {
  await inInstallWorld(async (world) => {
    await refuses(world, undefined, /config\.yaml is not there or empty/);
    await world.write(CONFIG_FILE, CONFIG, 0o644);
    assert.equal((await world.install()).code, 0);
    assert.equal(await mode(world, CONFIG_FILE), "600");
  });
});

import assert from "node:assert/strict";
import { parseLog } from "./program.ts";
import { each, pause } from "./wait.ts";
import { CYCLE_S, inWorld, type World } from "./world.ts";

const DIRECTORY = "/var/lib/pbx-agent";

/** Conditions of the last report, by code. */
function conditions(world: World): readonly string[] {
  return (world.report()?.conditions ?? []).map(({ code }) => code);
}

Deno.test("run: files of a newer program end it with 78 and stay as they are", async () => {
  await each(["identity.json", "state.json", "bootstrap.json"], async (name) => {
    await inWorld(async (world) => {
      const text = '{"format": 99, "more": "than this version knows"}\n';
      await world.write(`${DIRECTORY}/${name}`, text);
      const { code, stderr } = await world.cli("run");
      assert.equal(code, 78, stderr);
      const line = parseLog(stderr).at(-1);
      assert.equal(line?.event, "files_unusable");
      assert.match(line?.message ?? "", new RegExp(`${name}.*99.*newer`));
      assert.equal(await world.read(`${DIRECTORY}/${name}`), text);
      assert.deepEqual(world.requests(), []);
    });
  });
});

Deno.test("run: an identity that is unreadable or gone is never replaced: it idles and asks nobody", async () => {
  await each(["", "\u0000", null], async (text) => {
    await inWorld(async (world) => {
      await (await world.startSynced()).stop();
      await world.admin("DELETE", "/requests");
      if (text === null) await Deno.remove(`${world.root}${DIRECTORY}/identity.json`);
      else await world.write(`${DIRECTORY}/identity.json`, text);
      const agent = world.start();
      const line = (await agent.event("identity_unreadable")).message;
      assert.match(line, /identity\.json/);
      await pause(CYCLE_S * 1000 * 3);
      assert.deepEqual(world.requests(), []);
      assert.equal(await world.read(`${DIRECTORY}/identity.json`).catch(() => null), text);
      const status = JSON.parse((await world.cli("status")).stdout);
      assert.equal(status.stage, "identity_unreadable");
      assert.deepEqual(await agent.stop(), { code: 0, signal: null });
      assert.equal(world.agents().length, 1);
    });
  });
});

Deno.test("run: a state that is unreadable is kept aside and told of, and the agent goes on", async () => {
  await each(["", '{"format": 1', "\u0000\u0001"], async (text) => {
    await inWorld(async (world) => {
      // Whatever the time of day is, no window is open.
      await world.desire({ maintenance: { timezone: "UTC", windows: [] } });
      await (await world.startSynced()).stop();
      const starts = (await world.node.systemctlCalls()).filter((call) => /^restart/.test(call));
      await world.write(`${DIRECTORY}/state.json`, text);
      const reported: string[] = [];
      const agent = world.start();
      await world.until("state_lost in a report, and its end", () => {
        reported.push(...conditions(world));
        return reported.includes("state_lost") && !conditions(world).includes("state_lost");
      });
      assert.equal(await world.read(`${DIRECTORY}/state.json.unreadable`), text);
      assert.equal(world.agents().length, 1);
      await world.until("the first start's end", async () => {
        return (await world.state())["first_start"] === "done";
      });
      assert.deepEqual(
        (await world.node.systemctlCalls()).filter((call) => /^restart/.test(call)),
        starts,
        "a lost state is no reason to restart k3s outside of a window",
      );
      await agent.stop();
    });
  });
});

Deno.test("run: an answer to the enrollment that was lost is asked for again while the token is there", async () => {
  await inWorld(async (world) => {
    const first = world.start();
    first.onLines(() => {
      if (first.lines().some(({ event }) => event === "enrolled")) first.kill("SIGKILL");
    });
    await first.ended();
    await world.write("/etc/pbx-agent/config.yaml", world.configYaml);
    await world.write(`${DIRECTORY}/bootstrap.json`, "");
    await Deno.remove(`${world.root}${DIRECTORY}/state.json`).catch(() => {});
    await Deno.remove(`${world.root}/etc/rancher`, { recursive: true }).catch(() => {});
    const second = await world.startSynced();
    assert.equal(world.requests("/enroll").length, 2);
    assert.equal(world.agents().length, 1);
    await second.stop();
  });
});

Deno.test("run: a configuration that names another node is refused and reported; the agent stays what it is", async () => {
  await each(["cluster_id: other", "node_name: other-1"], async (line) => {
    await inWorld(async (world) => {
      await (await world.startSynced()).stop();
      const [key] = line.split(":");
      const other = world.configYaml.replace(new RegExp(`^${key}: .*$`, "m"), line);
      await world.write("/etc/pbx-agent/config.yaml", other);
      const agent = await world.startSynced();
      await world.until(
        "already_bound in a report",
        () => conditions(world).includes("already_bound"),
      );
      assert.equal(world.report()?.node.name, "demo-1");
      assert.equal(world.requests("/enroll").length, 1);
      assert.equal(await world.read("/etc/pbx-agent/config.yaml"), other, "not ours to change");
      await agent.stop();

      await world.write("/etc/pbx-agent/config.yaml", world.configYaml);
      const back = await world.startSynced();
      await world.until("the condition's end", () => conditions(world).length === 0);
      await back.stop();
    });
  });
});

Deno.test("run: a configuration that a crash left empty or took away is taken from its temporary file", async () => {
  const path = "/etc/pbx-agent/config.yaml";
  await each(["", "portal: [", null], async (text) => {
    await inWorld(async (world) => {
      await (await world.startSynced()).stop();
      const whole = await world.read(path);
      await world.write(`${path}.tmp`, whole, 0o600);
      if (text === null) await Deno.remove(world.root + path);
      else await world.write(path, text);
      await (await world.startSynced()).stop();
      assert.equal(await world.read(path), whole);
      assert.equal(world.requests("/enroll").length, 1);
    });
  });
});

/**
 * Three servers with a real k3s each, as one etcd: they come up in the wrong order, one loses its
 * database, the cluster is restored and the others rejoin. One story: each chapter goes on from what the
 * one before left.
 */
import assert from "node:assert/strict";
import {
  enroll,
  layOutServers,
  marksAt,
  operate,
  reportOf,
  type Server,
  type Servers,
  waitForMembers,
  writeMark,
} from "./cluster.ts";
import { waitUntil } from "../../lab/wait_until.ts";

const DB = "/var/lib/rancher/k3s/server/db";
const ALL = ["demo-1", "demo-2", "demo-3"];

/** What the chapters hand on to one another. */
const story: { servers?: Servers; snapshot: string; broken?: string } = { snapshot: "" };

function chapter(name: string, tell: (servers: Servers, ...all: Server[]) => Promise<void>): void {
  const fn = async () => {
    if (story.broken !== undefined) throw new Error(`not reached: "${story.broken}" failed`);
    story.broken = name;
    story.servers ??= await layOutServers();
    await tell(story.servers, ...story.servers.all);
    delete story.broken;
  };
  Deno.test({ name, fn, sanitizeOps: false, sanitizeResources: false });
}

Deno.test.afterAll(async () => await story.servers?.stop());

async function down({ container }: Server): Promise<void> {
  await container.run(["systemctl", "stop", "k3s.service"]);
}

/** Waits until exactly one of the servers tells that it leads; which one. */
async function leader({ portal, all }: Servers): Promise<Server> {
  return await waitUntil("one server to lead", async () => {
    const reports = await Promise.all(all.map((server) => reportOf(portal, server)));
    const leading = all.filter((_, index) => reports[index]?.node.leader === true);
    return leading.length === 1 ? leading[0] : undefined;
  }, { timeoutMs: 180_000, everyMs: 1_000 });
}

chapter(
  "joining: a server that comes before the first one says whom it waits for",
  async (servers, one, two) => {
    await enroll(servers, 2);
    assert.ok(one !== undefined && two !== undefined);
    await waitUntil("the second server to say so", async () => {
      return (await two.agent.journal()).includes(
        `this server joins https://${one.address}:6443`,
      ) ||
        undefined;
    }, { timeoutMs: 60_000, everyMs: 500 });
  },
);

chapter(
  "joining: the first and the third come, and all of them are one cluster with one leader",
  async (servers, one, two, three) => {
    assert.ok(one !== undefined && two !== undefined && three !== undefined);
    await enroll(servers, 1);
    await waitForMembers(one, ["demo-1", "demo-2"]);
    await enroll(servers, 3);
    await waitForMembers(one, ALL);
    await leader(servers);
    for (const server of servers.all) {
      await waitUntil(`${server.name} to be without conditions`, async () => {
        const report = await reportOf(servers.portal, server);
        return report?.node.api === "up" && report.conditions.length === 0 || undefined;
      }, { timeoutMs: 120_000, everyMs: 1_000 });
    }
    await writeMark(one, "mark-before");
    await one.container.run(["k3s", "etcd-snapshot", "save", "--etcd-s3=false", "--name=before"]);
    const files = (await one.container.run(["ls", `${DB}/snapshots`])).split("\n");
    story.snapshot = files.find((name) => name.startsWith("before-")) ?? "";
    await writeMark(one, "mark-after");
  },
);

chapter(
  "server.rejoin: a server that lost its database in a power cut comes in again",
  async (servers, one, _two, three) => {
    assert.ok(one !== undefined && three !== undefined);
    await three.container.run(["k3s", "etcd-snapshot", "save", "--etcd-s3=false", "--name=kept"]);
    await three.container.powerCut();
    await down(three);
    await three.container.run(["rm", "-rf", `${DB}/etcd`]);
    await three.container.run(["systemctl", "start", "--no-block", "k3s.service"]);
    await waitUntil("its API to be down", async () => {
      return (await reportOf(servers.portal, three))?.node.api === "down" || undefined;
    }, { timeoutMs: 60_000, everyMs: 500 });

    const result = await operate(servers, three, "server.rejoin");
    assert.deepEqual(result, { state: "succeeded", output: {} }, JSON.stringify(result));
    await waitForMembers(one, ALL);
    assert.deepEqual(await marksAt(three), ["mark-after", "mark-before"]);
    const kept = (await three.container.run(["ls", `${DB}/snapshots`])).split("\n");
    assert.ok(kept.some((name) => name.startsWith("kept-")), "its own snapshots are there");
  },
);

chapter(
  "server.rejoin: refused where the cluster would have no majority without it",
  async (servers, one, two, three) => {
    assert.ok(one !== undefined && two !== undefined && three !== undefined);
    await three.container.cutNetwork();
    try {
      const result = await operate(servers, two, "server.rejoin");
      assert.deepEqual([result.state, result.step, result.code], [
        "failed",
        "stop_k3s",
        "no_majority",
      ]);
      assert.match(
        result.message ?? "",
        /3 members, 2 healthy, losing this one leaves 1: no majority/,
      );
      assert.equal((await two.container.run(["systemctl", "is-active", "k3s"])).trim(), "active");
      assert.deepEqual(await marksAt(two), ["mark-after", "mark-before"]);
    } finally {
      await three.container.restoreNetwork();
    }
    await waitForMembers(three, ALL);
  },
);

chapter(
  "cluster.restore: refused while other servers run, and where k3s joins another",
  async (servers, one, two) => {
    assert.ok(one !== undefined && two !== undefined);
    const params = { snapshot: story.snapshot, from: "local" };
    const running = await operate(servers, one, "cluster.restore", params);
    assert.equal(running.code, "checks_failed", JSON.stringify(running));
    assert.match(running.message ?? "", /these other servers run on: demo-2, demo-3;/);
    const joined = await operate(servers, two, "cluster.restore", params);
    assert.match(joined.message ?? "", /has the server https:\/\/10\.88\.0\.11:6443 to join/);
    assert.deepEqual(await marksAt(one), ["mark-after", "mark-before"]);
  },
);

/** What the portal's guide says (docs/portal.md). */
interface Guide {
  readonly next: string;
  readonly node?: string;
  readonly nodes?: readonly string[];
}

chapter(
  "cluster.restore on the first, then server.rejoin on the others, one by one: the data is right on all",
  async (servers, one, two, three) => {
    assert.ok(one !== undefined && two !== undefined && three !== undefined);
    const words: string[] = [];
    for (let next = ""; next !== "done";) {
      const params = { snapshot: story.snapshot, from: "local" };
      const guide = await servers.portal.admin<Guide>("POST", "/admin/clusters/demo/restore", {
        id: "r1",
        params,
      });
      next = guide.next;
      if (words.at(-1) !== next) words.push(next);
      assert.notEqual(next, "failed", JSON.stringify(guide));
      for (const name of guide.nodes ?? []) {
        await down(servers.all.find((server) => server.name === name) ?? one);
      }
      if (next === "wait" && guide.node !== "demo-1" && words.length === 2) {
        // Restored, and the others are not there yet.
        words.push("restored");
        assert.deepEqual(await marksAt(one), ["mark-before"]);
      }
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    }
    assert.deepEqual(words, ["stop_others", "wait", "restored", "wait", "done"]);

    for (const server of servers.all) {
      await waitForMembers(server, ALL);
      assert.deepEqual(await marksAt(server), ["mark-before"], server.name);
    }
    await leader(servers);
  },
);

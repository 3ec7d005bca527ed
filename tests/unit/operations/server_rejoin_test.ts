import assert from "node:assert/strict";
import { Secret } from "../../../core/secret.ts";
import { answersElsewhere } from "../../../core/operations/rejoin/target.ts";
import { judgeQuorum } from "../../../core/operations/rejoin/quorum.ts";
import type { OperationResult } from "../../../core/protocol/operation.ts";
import {
  K3S_CONFIG_FILE,
  K3S_HOLD_DROP_IN,
  K3S_HOLD_FILE,
  STATE_FILE,
} from "../../../core/state/paths.ts";
import { serverRejoin } from "../../../core/operations/server_rejoin.ts";
import { runToy, startToy } from "./toy.ts";
import { runCut } from "./cut_matrix.ts";
import {
  assertJoined,
  CERTIFICATE,
  createRejoinMachine,
  DB,
  type RejoinMachine,
  UID,
} from "./rejoin_world.ts";
import { NODE } from "./machine.ts";
import { withServers } from "./servers.ts";

const OFFER = { id: "op_join", kind: "server.rejoin", params: {} };
const DROP_IN = "/etc/rancher/k3s/config.yaml.d/90-x.yaml";

/** Carries out a rejoin to its end. */
async function rejoined(
  machine: RejoinMachine,
  apiUp = true,
  id = OFFER.id,
): Promise<OperationResult> {
  const { result } = await runCut({
    setUp: () => machine,
    offer: () => ({ ...OFFER, id }),
    apiUp,
    mayEnd: ["succeeded", "failed", "refused"],
    assertEnd: () => {},
  }, null);
  return result;
}

/** Nothing of the database, of etcd or of k3s was touched. */
function assertUntouched({ disk, systemd, removed }: RejoinMachine): void {
  assert.equal(disk.text(`${DB}/etcd/member/wal/0.wal`), "old");
  assert.deepEqual(removed, []);
  assert.equal(systemd.units.get("k3s.service")?.state, "active");
  assert.deepEqual([disk.text(K3S_HOLD_FILE), disk.text(K3S_HOLD_DROP_IN)], [null, null]);
}

Deno.test("server.rejoin: a member of a whole cluster goes out, is wiped and comes in again", async () => {
  const machine = createRejoinMachine();
  assert.deepEqual(await rejoined(machine), { state: "succeeded", output: {} });
  assertJoined(machine);
  assert.deepEqual(machine.removed, ["demo-1-aaaaaaaa"]);
  const { finished } = JSON.parse(machine.disk.text(STATE_FILE) ?? "");
  const [stop, , , wait] = finished.op_join.steps;
  assert.match(stop.evidence, /3 members, 3 healthy, losing this one leaves 2$/);
  assert.match(wait.evidence, /one of 3 members/);
});

Deno.test("server.rejoin: after a restore elsewhere it is no member, and its own API may be down", async () => {
  const machine = createRejoinMachine(({ peers, k8s }) => {
    peers.splice(0, 1);
    peers.splice(1, 1);
    k8s.breakWith({ kind: "down" });
  });
  const result = await rejoined(machine, false);
  assert.equal(result.state, "succeeded", JSON.stringify(result));
  assert.deepEqual(machine.removed, []);
  assert.equal(machine.disk.text(`${DB}/etcd/member/wal/0.wal`), "joined");
});

Deno.test("server.rejoin: a server whose database is lost altogether joins too", async () => {
  const machine = createRejoinMachine(({ disk, k8s }) => {
    void disk.remove(`${DB}/etcd`);
    k8s.breakWith({ kind: "down" });
  });
  assert.equal((await rejoined(machine, false)).state, "succeeded");
  assertJoined(machine);
  assert.deepEqual(machine.removed, ["demo-1-aaaaaaaa"]);
});

Deno.test("server.rejoin: refused where the API answers nowhere, and on a single server, in this order", async () => {
  const down = createRejoinMachine(({ peers, k8s }) => {
    for (const each of peers) each.healthy = false;
    k8s.breakWith({ kind: "down" });
  });
  withServers(down, 1);
  const first = await rejoined(down, false);
  assert.deepEqual([first.state, first.code], ["refused", "api_down"]);
  const single = withServers(createRejoinMachine(), 1);
  const second = await rejoined(single);
  assert.deepEqual([second.state, second.code], ["refused", "single_server"]);
  assertUntouched(single);
});

const REFUSALS: readonly (readonly [string, (machine: RejoinMachine) => void, RegExp, string?])[] =
  [
    [
      "the only healthy member but one",
      ({ third }) => void (third.healthy = false),
      /3 members, 2 healthy, losing this one leaves 1: no majority/,
      "no_majority",
    ],
    [
      "the other of two members",
      ({ peers }) => void peers.pop(),
      /2 members, 2 healthy, losing this one leaves 1: no majority/,
      "no_majority",
    ],
    [
      "a learner that does not count",
      ({ peers, third }) => void peers.splice(2, 1, { ...third, isLearner: true }),
      /2 members, 2 healthy, losing this one leaves 1: no majority/,
      "no_majority",
    ],
    [
      "no server to join",
      ({ disk }) => disk.put(K3S_CONFIG_FILE, 'cluster-init: true\ntoken: "x"\n'),
      /names no server to join: .*would begin a new cluster/,
    ],
    [
      "a server to join by http",
      ({ disk }) => disk.put(DROP_IN, "server: http://a\n"),
      /no https URL/,
    ],
    [
      "a server to join that is away",
      ({ disk }) => disk.put(DROP_IN, "server: https://10.0.0.9:6443\n"),
      /does not answer: https:\/\/10\.0\.0\.9:6443: connection refused/,
    ],
    ["another cluster", (m) => void (m.firstUid = "another"), /another one: .*UID another and not/],
    [
      "another token",
      ({ disk }) => disk.put(DROP_IN, "token: wrong\n"),
      /does not take this node's token/,
    ],
    [
      "snapshots inside the database",
      ({ disk }) => disk.put(DROP_IN, `etcd-snapshot-dir: ${DB}/etcd/mine\n`),
      /its snapshots would be lost/,
    ],
    [
      "a snapshot under way",
      ({ host }) => host.run([{ pid: 77, commandLine: "k3s etcd-snapshot save" }]),
      /takes or changes a snapshot at the moment \(process 77\)/,
    ],
  ];

for (const [what, change, words, code = "checks_failed"] of REFUSALS) {
  Deno.test(`server.rejoin: ${what}: nothing is stopped`, async () => {
    const machine = createRejoinMachine(change);
    const result = await rejoined(machine);
    assert.deepEqual([result.state, result.step, result.code], ["failed", "stop_k3s", code]);
    assert.match(result.message ?? "", /^nothing was wiped, and k3s was not stopped: /);
    assert.match(result.message ?? "", words);
    assertUntouched(machine);
  });
}

Deno.test("server.rejoin: a member lost between the stop and the wipe: k3s goes on with its database", async () => {
  const machine = createRejoinMachine();
  const { stop } = machine.ports.systemd;
  const ports = {
    ...machine.ports,
    systemd: {
      ...machine.ports.systemd,
      stop: (unit: string) => {
        machine.third.healthy = false;
        return stop(unit);
      },
    },
  };
  const result = await rejoined({ ...machine, ports });
  assert.deepEqual([result.step, result.code], ["wipe_db", "no_majority"]);
  assert.match(result.message ?? "", /nothing was wiped, k3s is started again on its own database/);
  assertUntouched(machine);
});

Deno.test("server.rejoin: an agent that is told to end while it waits for a majority leaves k3s held", async () => {
  const machine = createRejoinMachine();
  const { stop } = machine.ports.systemd;
  Object.assign(machine.ports.systemd, {
    stop(unit: string) {
      machine.third.healthy = false;
      return stop(unit);
    },
  });
  const run = await startToy(machine, serverRejoin);
  let ended = false;
  void run.done.finally(() => ended = true);
  void machine.clock.sleep(20_000).then(() => run.stop());
  while (!ended && await machine.clock.advanceToNext());
  assert.deepEqual([run.journal().step, run.journal().result], ["wipe_db", undefined]);
  assert.notEqual(machine.disk.text(K3S_HOLD_FILE), null);
  machine.third.healthy = true;
  assert.equal((await runToy(machine, serverRejoin)).result?.state, "succeeded");
  assertJoined(machine);
});

Deno.test("server.rejoin: a member without a vote is not asked to take this one out", async () => {
  const machine = createRejoinMachine(({ peers, third }) => {
    peers.unshift({ ...third, id: "9", name: "demo-4-eeeeeeee", isLearner: true });
  });
  assert.equal((await rejoined(machine)).state, "succeeded");
  assert.deepEqual(machine.removed, ["demo-1-aaaaaaaa"]);
});

Deno.test("server.rejoin: taken out, and the answer lost: it is looked up, for its database is of no use now", async () => {
  const machine = createRejoinMachine((it) => void (it.isAnswerLost = true));
  assert.equal((await rejoined(machine)).state, "succeeded");
  assertJoined(machine);
});

Deno.test("server.rejoin: k3s that somebody starts while it waits for a majority is left alone", async () => {
  const machine = createRejoinMachine();
  const { look } = machine.ports.servers;
  let looks = 0;
  const servers = {
    ...machine.ports.servers,
    look: (...args: Parameters<typeof look>) => {
      looks += 1;
      if (looks === 2) machine.host.run([{ pid: 77, commandLine: "k3s server" }]);
      return look(...args);
    },
  };
  const result = await rejoined({ ...machine, ports: { ...machine.ports, servers } });
  assert.deepEqual([result.state, result.step], ["failed", "wipe_db"]);
  assert.match(result.message ?? "", /whoever started it has the last word; nothing was wiped/);
  assert.deepEqual(machine.removed, []);
  assert.equal(machine.disk.text(`${DB}/etcd/member/wal/0.wal`), "old");
});

for (const coming of ["sqlite", "another"] as const) {
  Deno.test(`server.rejoin: k3s that comes up ${coming === "sqlite" ? "on sqlite" : "in another cluster"} is stopped and held`, async () => {
    const machine = createRejoinMachine((it) => {
      it.coming = coming;
      if (coming !== "another") return;
      const state = JSON.parse(it.disk.text(STATE_FILE) ?? "");
      it.disk.put(STATE_FILE, JSON.stringify({ ...state, kube_system_uid: "the-right-one" }));
      it.firstUid = "the-right-one";
    });
    const result = await rejoined(machine);
    assert.deepEqual([result.step, result.code], ["wait_api", "wrong_cluster"]);
    assert.match(result.message ?? "", /stopped again and is held/);
    assert.equal(machine.systemd.units.get("k3s.service")?.state, "inactive");
    assert.notEqual(machine.disk.text(K3S_HOLD_FILE), null);
  });
}

Deno.test("server.rejoin: one that never joins is told so, with what to look at; another may follow", async () => {
  const machine = createRejoinMachine((it) => void (it.coming = "nothing"));
  const result = await rejoined(machine);
  assert.deepEqual([result.step, result.code], ["wait_api", "timeout"]);
  assert.match(
    result.message ?? "",
    /has not joined: .*k3s joins https:\/\/10\.0\.0\.2:6443.*journalctl/,
  );
  assert.equal(machine.disk.text(K3S_HOLD_FILE), null);
  machine.coming = "joined";
  const state = JSON.parse(machine.disk.text(STATE_FILE) ?? "");
  machine.disk.put(STATE_FILE, JSON.stringify({ ...state, operation: null, finished: {} }));
  assert.equal((await rejoined(machine, false, "op_again")).state, "succeeded");
  assertJoined(machine);
});

Deno.test("server.rejoin: what a restore holds is never started again on its old data", async () => {
  const machine = createRejoinMachine((it) => {
    // Of another operation, although its words hold this one's ID.
    it.disk.put(K3S_HOLD_FILE, "cluster.restore op_join2 holds k3s until its reset succeeded\n");
    it.disk.put(K3S_HOLD_DROP_IN, "x");
    void it.systemd.stop("k3s.service");
    it.third.healthy = false;
    it.peers.splice(0, 1);
  });
  const result = await rejoined(machine);
  assert.match(result.message ?? "", /the cluster to join does not answer|no majority/);
  assert.match(result.message ?? "", /k3s stays held as it was before/);
  machine.peers.pop();
  const state = JSON.parse(machine.disk.text(STATE_FILE) ?? "");
  machine.disk.put(STATE_FILE, JSON.stringify({ ...state, operation: null, finished: {} }));
  assert.equal((await rejoined(machine)).state, "succeeded");
  assert.equal(machine.disk.text(K3S_HOLD_FILE), null);
});

Deno.test("server.rejoin: a hold that was cut short is made whole before k3s is stopped", async () => {
  const machine = createRejoinMachine();
  // The power went between the hold's two files.
  machine.disk.put(K3S_HOLD_FILE, "server.rejoin op_join holds k3s until its database is wiped\n");
  let wasWhole = false;
  const systemd = {
    ...machine.ports.systemd,
    stop: (unit: string) => {
      wasWhole = machine.disk.text(K3S_HOLD_DROP_IN) !== null;
      return machine.ports.systemd.stop(unit);
    },
  };
  const result = await rejoined({ ...machine, ports: { ...machine.ports, systemd } });
  assert.equal(result.state, "succeeded");
  assert.equal(wasWhole, true);
});

Deno.test("judgeQuorum: a majority of all votes has to be left, whoever they are", () => {
  const found = (own: boolean, healthy: boolean, isLearner = false) => ({
    member: { id: "1", name: "x", clientUrls: [], isLearner },
    isOwn: own,
    isHealthy: healthy,
  });
  const judged = (...others: boolean[]) =>
    judgeQuorum([found(true, true), ...others.map((each) => found(false, each))]).isSafe;
  assert.equal(judged(), false);
  assert.equal(judged(true), false);
  assert.equal(judged(true, true), true);
  assert.equal(judged(true, true, false, false), false);
  assert.equal(judged(true, true, true, false), true);
  const none = judgeQuorum([found(false, true), found(true, true, true)]);
  assert.equal(none.isSafe, true, "an own member that was still being filled has no vote to lose");
  assert.equal(none.words, "1 member, 1 healthy, this one is none of them");
});

Deno.test("answersElsewhere: only the same cluster, by its UID", async () => {
  const { ports } = createRejoinMachine();
  assert.equal(await answersElsewhere(ports, UID), true);
  assert.equal(await answersElsewhere(ports, "another"), false);
  assert.equal(await answersElsewhere(ports, null), false);
  assert.ok(!(await ports.servers.look("https://10.0.0.2:6443", new Secret("x"))).ok);
});

Deno.test("server.rejoin: where k3s surely is a member of no etcd nobody is asked", async () => {
  const machine = createRejoinMachine();
  await machine.disk.remove(CERTIFICATE);
  machine.disk.put(K3S_CONFIG_FILE, "cluster-init: true\n");
  for (const peer of machine.peers.splice(0)) peer.healthy = false;
  assert.deepEqual(await rejoined(machine), { state: "succeeded", output: {} });
  assert.equal(machine.disk.text(`${DB}/snapshots/one`), "a snapshot");
  assert.equal(machine.disk.text(`${DB}/etcd/member/wal/0.wal`), "joined");
  assert.deepEqual(machine.removed, []);
  const { finished } = JSON.parse(machine.disk.text(STATE_FILE) ?? "");
  assert.match(finished.op_join.steps[0].evidence, /is no member of etcd here/);
});

Deno.test("server.rejoin: such a one that was killed after its stop goes on, its API being down", async () => {
  for (const id of [OFFER.id, "op_other"]) {
    const machine = createRejoinMachine();
    await machine.disk.remove(CERTIFICATE);
    machine.disk.put(K3S_HOLD_FILE, `server.rejoin ${id} holds k3s until its database is wiped\n`);
    machine.disk.put(K3S_HOLD_DROP_IN, "");
    machine.k8s.breakWith({ kind: "down" });
    for (const peer of machine.peers.splice(0)) peer.healthy = false;
    const { state } = await rejoined(machine);
    assert.equal(state, id === OFFER.id ? "succeeded" : "failed");
  }
});

Deno.test("server.rejoin: certificates, or a member that its Node names, have it ask all the same", async () => {
  for (const sign of ["certificates", "node"]) {
    const machine = createRejoinMachine();
    machine.disk.put(K3S_CONFIG_FILE, "cluster-init: true\n");
    if (sign === "node") {
      await machine.disk.remove(CERTIFICATE);
      machine.k8s.write(`/api/v1/nodes/${NODE}`, {
        apiVersion: "v1",
        kind: "Node",
        metadata: { name: NODE, annotations: { "etcd.k3s.cattle.io/node-name": "demo-1-x" } },
      }, "k3s");
    }
    const { state, step, message } = await rejoined(machine);
    assert.deepEqual([state, step], ["failed", "stop_k3s"], sign);
    assert.match(message ?? "", /names no server to join/);
    assertUntouched(machine);
  }
});

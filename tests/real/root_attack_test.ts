// needs: root systemd-nspawn mmdebstrap ip k3s versitygw
/**
 * A portal that was taken over tries to become root on a node with the real k3s: by the answer to the
 * enrollment, then by the desired state and operations. It has the portal's key and signs its answers, and
 * it has no release key.
 */
import assert from "node:assert/strict";
import { FIRST_RELEASE } from "../../adapters/portal/first_release.ts";
import type { JsonObject } from "../../core/json.ts";
import { kubectl, waitForApi } from "../lab/k3s_unit.ts";
import { waitUntil } from "../lab/wait_until.ts";
import { layOutNode, type Node, viewPortal } from "./first_start/node.ts";
import { desiredPatch } from "./first_start/setting.ts";
import { FASTER } from "./operations/node.ts";
import { offer } from "./operations/operation.ts";

const K3S_CONFIG = "/etc/rancher/k3s/config.yaml";
const MANIFESTS = "/var/lib/rancher/k3s/server/manifests";

/** With these anybody who reaches the API is cluster-admin, and a privileged Pod is root on its host. */
const RIGHTS = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: attack }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin }
subjects: [{ kind: User, apiGroup: rbac.authorization.k8s.io, name: "system:anonymous" }]
`;
const ROOT_POD = `apiVersion: v1
kind: Pod
metadata: { name: attack, namespace: kube-system }
spec:
  hostPID: true
  containers:
    - { name: attack, image: busybox, securityContext: { privileged: true } }
`;
const ATTACK = [
  { name: "attack-rights", content: RIGHTS },
  { name: "attack-pod", content: ROOT_POD },
];
const ANYBODY = { "kube-apiserver-arg": ["authorization-mode=AlwaysAllow", "anonymous-auth=true"] };

/** Each attack by the enrollment, with the code and the words that the node answers it with. */
const ENROLLMENTS: readonly (readonly [JsonObject, string, RegExp])[] = [
  [
    { k3s: { config: ANYBODY }, manifests: ATTACK },
    "k3s_config_refused",
    /kube-apiserver-arg.*AlwaysAllow/,
  ],
  [{ manifests: ATTACK }, "unsigned_manifest", /attack-rights/],
  // The name is one that the release signs, the bytes are not.
  [
    { manifests: [{ name: "lab-first-start", content: RIGHTS }] },
    "unsigned_manifest",
    /lab-first-start.*SHA-256/,
  ],
  [{ k3s: { config: { "data-dir": "/tmp/attack" } } }, "k3s_config_refused", /data-dir/],
  [
    { k3s: { config: { "kubelet-arg": ["config=/tmp/attack"] } } },
    "k3s_config_refused",
    /kubelet-arg.*config=/,
  ],
  [{ k3s: { config: { "kube-apiserver-arg+": ["v=9"] } } }, "k3s_config_refused", /arg\+/],
  [{ k3s: { config: { "disable+": ["traefik"] } } }, "k3s_config_refused", /disable\+/],
  // A second key behind a line end, where a value is one of the list.
  [
    { k3s: { config: { "cluster-domain": "a\nkube-apiserver-arg: [x=y]" } } },
    "k3s_config_refused",
    /cluster-domain/,
  ],
  [
    { k3s: { config: { server: "https://attacker.example.com:6443" } } },
    "k3s_config_refused",
    /server.*attacker/,
  ],
];

/** What the tests of this suite hand on to one another: they are one story, in their order. */
const story: { node?: Node; broken?: string; k3s?: string } = {};

function chapter(name: string, tell: () => Promise<void>): void {
  const fn = async () => {
    if (story.broken !== undefined) throw new Error(`not reached: "${story.broken}" failed`);
    story.broken = name;
    await tell();
    delete story.broken;
  };
  Deno.test({ name, fn, sanitizeOps: false, sanitizeResources: false });
}

function theNode(): Node {
  assert.ok(story.node, "the node could not be laid out");
  return story.node;
}

Deno.test.beforeAll(async () => {
  const node = story.node = await layOutNode();
  const { container } = node;
  await container.writeFile("/etc/systemd/system/pbx-agent.service.d/10-lab.conf", FASTER);
  await container.run(["systemctl", "daemon-reload"]);
});

Deno.test.afterAll(async () => await story.node?.stop());

/** The agent's own state, once a condition of this code says this. */
async function saysOf(code: string, words: RegExp): Promise<void> {
  const { container } = theNode();
  let seen: readonly { code: string; message: string }[] = [];
  await waitUntil(`${code} ${words}`, async () => {
    const text = await container.readFile("/var/lib/pbx-agent/state.json").catch(() => "{}");
    seen = JSON.parse(text).conditions ?? [];
    return seen.some((one) => one.code === code && words.test(one.message)) || undefined;
  }, { timeoutMs: 60_000, everyMs: 200 }).catch((error: unknown) => {
    throw new Error(`${String(error)}; the last conditions: ${JSON.stringify(seen)}`);
  });
}

/** k3s has nothing of the agent, was not started, and the token is there to ask again. */
async function assertNothingBegun(): Promise<void> {
  const { container, portal } = theNode();
  for (const path of [K3S_CONFIG, MANIFESTS, "/var/lib/rancher/k3s/server", "/tmp/attack"]) {
    assert.equal(await container.exists(path), false, path);
  }
  // The drop-ins of the desired state may be there already: two files, with keys of the agent's own.
  const dropIns = await container.exec(["sh", "-c", `cat ${K3S_CONFIG}.d/*`]);
  assert.doesNotMatch(dropIns.stdout, /-arg|attack|data-dir|server:/);
  const { stdout } = await container.exec(["systemctl", "is-active", "k3s.service"]);
  assert.equal(stdout.trim(), "inactive");
  const enabled = await container.exec(["systemctl", "is-enabled", "k3s.service"]);
  assert.equal(enabled.stdout.trim(), "disabled");
  const config = await container.readFile("/etc/pbx-agent/config.yaml");
  assert.ok(config.includes(portal.token), "the token went before an answer had passed");
}

for (const [merge, code, words] of ENROLLMENTS) {
  chapter(`enrollment: ${code} for ${words}: k3s gets nothing and is not started`, async () => {
    const { portal, container, agent } = theNode();
    await portal.admin("DELETE", "/admin/faults");
    const fault = { match: { path: "/enroll" }, count: null, action: { merge } };
    await portal.admin("POST", "/admin/faults", fault);
    await agent.start();
    // A start asks once at once.
    await container.run(["systemctl", "restart", "pbx-agent.service"]);
    await saysOf(code, words);
    await assertNothingBegun();
  });
}

chapter("enrollment: the portal and status know why, and a reboot changes nothing", async () => {
  const { container } = theNode();
  await container.reboot();
  await waitUntil("a report after the boot", async () => {
    const view = await viewPortal(theNode());
    const [known] = Object.values(view.agents);
    const bootId = await container.bootId();
    const isTold = known?.report?.conditions.some((one) => one.code === "k3s_config_refused");
    return known?.report?.node.boot_id === bootId && isTold ? true : undefined;
  }, { timeoutMs: 60_000, everyMs: 500 });
  const status = await container.exec(["/var/lib/pbx-agent/bin/pbx-agent", "status", "--text"]);
  assert.match(status.stdout, /k3s_config_refused/);
  await assertNothingBegun();
});

chapter("enrollment: answered well the node comes up, and anybody has no rights", async () => {
  const { container, portal } = theNode();
  await portal.admin("DELETE", "/admin/faults");
  await container.run(["systemctl", "restart", "pbx-agent.service"]);
  await waitUntil("the first start to be done", async () => {
    const state = JSON.parse(await container.readFile("/var/lib/pbx-agent/state.json"));
    return state.first_start === "done" && state.desired !== null ? true : undefined;
  }, { timeoutMs: 240_000, everyMs: 500 });
  await waitForApi(container);
  await waitUntil("a report without conditions", async () => {
    const [known] = Object.values((await viewPortal(theNode())).agents);
    const { report } = known ?? {};
    return report?.conditions.length === 0 && !report.pending.k3s_restart ? true : undefined;
  }, { timeoutMs: 120_000, everyMs: 500 });
  assert.equal(Object.keys((await viewPortal(theNode())).agents).length, 1);
  assert.ok(!(await container.readFile("/etc/pbx-agent/config.yaml")).includes(portal.token));
  await assertNoRights();
  story.k3s = await k3sState();
});

/** Nothing of the attacks is on the disk or in the API, and anonymous users may do nothing. */
async function assertNoRights(): Promise<void> {
  const { container } = theNode();
  const all = await container.exec([
    ...["grep", "-rlE", "AlwaysAllow|attack", "/etc/rancher", MANIFESTS, "/etc/systemd"],
  ]);
  assert.equal(all.stdout, "");
  for (const [verb, resource] of [["create", "pods"], ["get", "secrets"], ["*", "*"]] as const) {
    const spec = {
      user: "system:anonymous",
      groups: ["system:unauthenticated"],
      resourceAttributes: { verb, resource },
    };
    const review = { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", spec };
    const args = ["create", "-f", "-", "-o=jsonpath={.status.allowed}"];
    const allowed = await kubectl(container, args, JSON.stringify(review));
    assert.equal(allowed, "false", `${verb} ${resource}`);
  }
  const bindings = await kubectl(container, ["get", "clusterrolebindings,pods", "-A", "-o=name"]);
  assert.ok(!bindings.includes("attack"), bindings);
}

/** k3s's configuration with every drop-in, its process, and the agent's drop-ins of systemd. */
async function k3sState(): Promise<string> {
  const { container } = theNode();
  // Of its packaged manifests k3s removes and adds some by itself.
  const files = await container.run([
    ...["find", "/etc/rancher/k3s", "/etc/systemd/system", "/usr/local/bin", MANIFESTS],
    ...["-type", "f", "!", "-name", "k3s.yaml"],
    ...["(", "-not", "-path", `${MANIFESTS}/*`, "-o", "-name", "pbx-*", "-o", "-name", "*attack*"],
    ...[")", "-printf", "%p %m %s\\n"],
  ]);
  const config = await container.run(["sh", "-c", `cat ${K3S_CONFIG} ${K3S_CONFIG}.d/*`]);
  const unit = ["systemctl", "show", "--property=MainPID,ExecStart", "k3s.service"];
  const { stdout } = await container.exec(unit);
  return [files.split("\n").toSorted().join("\n"), config, stdout].join("\n");
}

/** Wants the desired state of the suite with changes to it, as nobody would send them. */
async function desire(patch: JsonObject): Promise<void> {
  const { portal, s3 } = theNode();
  const path = `/admin/clusters/${portal.cluster}`;
  const { desired } = await portal.admin<{ desired: JsonObject }>("GET", path);
  const { host, secrets } = desiredPatch(s3);
  const { host: changedHost = {}, ...changed } = patch;
  const document = {
    ...desired,
    revision: Number(desired["revision"]) + 1,
    release: FIRST_RELEASE,
    addons: [],
    secrets,
    ...changed,
    host: { ...host, ...changedHost as JsonObject },
  };
  await portal.admin("PUT", `${path}/desired`, { desired: document, raw: true });
}

const SNAPSHOTS = { schedule: "17 3 * * *", retention: 7, compress: true };
/** Each attack by the desired state, and the condition that it ends in. */
const DESIRED: readonly (readonly [string, JsonObject, string, RegExp])[] = [
  [
    "a key of k3s behind the schedule's line end",
    { host: { snapshots: { ...SNAPSHOTS, schedule: "17 3 * * *\nkube-apiserver-arg: [x=y]" } } },
    "invalid_desired_state",
    /schedule/,
  ],
  [
    "a key of k3s behind the ingress",
    { host: { ingress: "none]\nkube-apiserver-arg: [x=y]\n#" } },
    "invalid_desired_state",
    /ingress/,
  ],
  [
    "an add-on that no release has",
    { addons: [{ name: "attack", enabled: true, options: {} }] },
    "addon_failed",
    /attack: release .* has no such add-on/,
  ],
  [
    "an add-on's name that is a path",
    { addons: [{ name: "../../attack", enabled: true, options: {} }] },
    "invalid_desired_state",
    /addons/,
  ],
  [
    "images of its own for privileged Pods",
    {
      host: {
        registries: { mirrors: { "docker.io": { endpoint: ["https://attack.example.com"] } } },
      },
    },
    "registries_refused",
    /docker\.io|attack\.example\.com/,
  ],
  [
    "a release of its own, with templates of its own",
    { release: "6.6.6" },
    "manifest_rejected",
    /release 6\.6\.6/,
  ],
  [
    "a release whose name is a path",
    { release: "../../etc/passwd" },
    "invalid_desired_state",
    /release/,
  ],
];

chapter("desired state: a release that no release key signed is put on the portal", async () => {
  const { portal } = theNode();
  const { releases } = await portal.admin<{ releases: Record<string, { payload: JsonObject }> }>(
    "GET",
    "/admin/state",
  );
  const payload = {
    ...releases[FIRST_RELEASE]?.payload,
    version: "6.6.6",
    sequence: 666,
    k3s: { config: { "kube-apiserver-arg": [ANYBODY["kube-apiserver-arg"]] } },
    first_start: {},
  };
  await portal.admin("PUT", "/admin/releases/6.6.6", { payload, tampered: true });
});

for (const [what, patch, code, words] of DESIRED) {
  chapter(`desired state: ${what}: ${code}, and k3s stays as it is`, async () => {
    await desire(patch);
    await saysOf(code, words);
    assert.equal(await k3sState(), story.k3s);
  });
}

chapter("desired state: members of k3s that it does not have lead nowhere", async () => {
  const { container } = theNode();
  await desire({
    k3s: { config: ANYBODY },
    manifests: ATTACK,
    host: { k3s: { config: ANYBODY }, config: ANYBODY, "kube-apiserver-arg": ["x=y"] },
  });
  await waitUntil("it to be accepted", async () => {
    const state = JSON.parse(await container.readFile("/var/lib/pbx-agent/state.json"));
    return state.desired.state.revision === DESIRED.length + 3 ? true : undefined;
  }, { timeoutMs: 60_000, everyMs: 200 });
  const before = (await viewPortal(theNode())).requests.length;
  await waitUntil("two more syncs", async () => {
    return (await viewPortal(theNode())).requests.length >= before + 2 ? true : undefined;
  }, { timeoutMs: 60_000, everyMs: 500 });
  assert.equal(await k3sState(), story.k3s);
});

/** Each operation that would carry a command, a path or a file to the host, and how it is refused. */
const OPERATIONS: readonly (readonly [string, Record<string, unknown>, string])[] = [
  ["shell.run", { command: "id > /tmp/attack" }, "unsupported"],
  ["snapshot.save", { name: "../../../tmp/attack" }, "invalid_params"],
  ["snapshot.save", { name: "-o/tmp/attack" }, "invalid_params"],
  ["k3s.restart", { args: ["--kube-apiserver-arg=x=y"], now: true }, "refused"],
  ["cluster.restore", { snapshot: "../../attack", from: "local" }, "invalid_params"],
  ["cluster.upgrade", { release: "6.6.6" }, "failed"],
];

for (const [kind, params, end] of OPERATIONS) {
  chapter(`operation: ${kind} with ${JSON.stringify(params)} leaves k3s as it is`, async () => {
    const result = await (await offer(theNode(), kind, params)).result();
    assert.notEqual(result.state, "succeeded");
    const seen = [result.state, result.code];
    assert.ok(end === "refused" ? result.state !== "failed" : seen.includes(end), seen.join());
    assert.equal(await theNode().container.exists("/tmp/attack"), false);
    assert.equal(await k3sState(), story.k3s);
  });
}

chapter("after all of it: nobody has rights, and k3s is the one that was started", async () => {
  await assertNoRights();
  assert.equal(await k3sState(), story.k3s);
});

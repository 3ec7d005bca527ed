import { k3sConfig } from "../host/k3s_config.ts";
import { readJoinedServer } from "../host/k3s_settings.ts";
import { manifestPath } from "../host/manifests.ts";
import type { ClusterObject } from "../cluster/secrets.ts";
import { fail, ok, type Result } from "../result.ts";
import type { Bootstrap } from "../state/bootstrap.ts";
import { readBootstrap } from "./read_bootstrap.ts";
import { writeDocument } from "../state/durable.ts";
import { mayWrite, whyNotAgent } from "../state/custody.ts";
import { K3S_CONFIG_FILE, K3S_UNIT } from "../state/paths.ts";
import type { State } from "../state/state.ts";
import type { BoundContext } from "./context.ts";
import { clearConditions, raiseCondition } from "./context.ts";
import {
  custodyBy,
  custodyOfNode,
  judgeCluster,
  lookAtCluster,
  readClusterUid,
} from "./custody.ts";
import { mayUseFirstTarget } from "./desired_changes.ts";
import { openClusterSecrets } from "./cluster_secrets.ts";
import { applySecrets } from "./converge_cluster.ts";
import { readDropInHashes } from "./host_files.ts";
import { dropToken } from "./drop_token.ts";
import { type FirstConfigs, judgeAuthority } from "./first_config.ts";

/** One attempt to go a step on: done with it, or what it waits for. */
export type Advance = { readonly moved: true } | { readonly moved: false; readonly why: string };

const MOVED: Advance = { moved: true };

/**
 * Tries the next step of k3s's first start (operations.md, First start, step 5). The step is in the
 * state file and every one can be repeated, so a crash anywhere resumes where it was.
 */
export async function advanceFirstStart(
  context: BoundContext,
  configs: FirstConfigs,
): Promise<Advance> {
  const whyNot = whyNotAgent(await custodyOfNode(context));
  if (whyNot !== null) return waits(whyNot);
  switch (context.store.state.first_start) {
    case "configure":
      return await configure(context, configs);
    case "start":
      return await startK3s(context);
    case "wait_api":
      return await waitForApi(context);
    case "write_secrets":
      return await writeSecrets(context, await readBootstrap(context));
    case "done":
      return MOVED;
  }
}

async function configure(context: BoundContext, configs: FirstConfigs): Promise<Advance> {
  const passed = await configs.get(context);
  if (!passed.ok) return waits(passed.error);
  // The answer counts for good: there is nothing left to ask with the token. A disk that does not take it
  // holds up nothing; another task tries again.
  await dropToken(context);
  const { config, token, agentToken, manifests } = passed.value;
  const files = [
    { path: K3S_CONFIG_FILE, content: k3sConfig(config, token, agentToken).reveal() },
    ...manifests.map(({ name, content }) => ({ path: manifestPath(name), content })),
  ];
  for (const { path, content } of files) {
    const written = await writeDocument(
      context.ports.disk,
      path,
      new TextEncoder().encode(content),
    );
    if (!written.ok) return waits(written.error.message);
  }
  context.ports.log.write(
    "info",
    "k3s_configured",
    `wrote ${K3S_CONFIG_FILE} and ${manifests.length} first-start manifests`,
  );
  return await go(context, { first_start: "start" });
}

async function startK3s(context: BoundContext): Promise<Advance> {
  const { systemd, disk, log } = context.ports;
  // Stored before the start: after a crash in between, what k3s was started with is still known.
  const unit = await systemd.unitState(K3S_UNIT);
  const running = unit === "active" || unit === "activating";
  if (!running || context.store.state.k3s_drop_ins === null) {
    const hashes = await readDropInHashes(disk);
    const stored = await context.store.commit((state) => ({ ...state, k3s_drop_ins: hashes }));
    if (!stored.ok) return waits(stored.error.message);
  }
  const enabled = await systemd.enable(K3S_UNIT);
  if (!enabled.ok) {
    log.write("warn", "k3s_not_enabled", `k3s may not start at boot: ${enabled.error.message}`);
  }
  const started = await systemd.start(K3S_UNIT);
  if (!started.ok) return waits(`${K3S_UNIT} does not start: ${started.error.message}`);
  log.write("info", "k3s_started", `${K3S_UNIT} is started; waiting for the Kubernetes API`);
  return await go(context, { first_start: "wait_api" });
}

/** /readyz comes up to two seconds before k3s's own kinds do (k3s lab). */
const K3S_KIND = {
  apiVersion: "apiextensions.k8s.io/v1",
  resource: "customresourcedefinitions",
  name: "addons.k3s.cattle.io",
} as const;

async function waitForApi(context: BoundContext): Promise<Advance> {
  const { k8s, log } = context.ports;
  if (!await k8s.ready()) {
    const joins = await readJoinedServer(context.ports.disk);
    const first = joins === null
      ? ""
      : `; this server joins ${joins}: until that one is up k3s ends and is started again`;
    return waits(`/readyz of the Kubernetes API does not answer 200 yet${first}`);
  }
  const kind = await k8s.get(K3S_KIND);
  if (!kind.ok) return waits(kind.error.message);
  if (kind.value === null) return waits("the API is up, but k3s's own kinds are not there yet");
  const uid = await readClusterUid(k8s);
  if (!uid.ok) return waits(uid.error.message);
  if (uid.value === null) {
    return waits("the API is up, but the namespace kube-system is not there yet");
  }
  const look = await judgeCluster(context, uid.value);
  const whyNot = whyNotAgent(custodyBy(context.store.state, look));
  if (whyNot !== null) return waits(whyNot);
  log.write("info", "api_up", "the Kubernetes API is up, and k3s's own kinds are there");
  return await go(context, { first_start: "write_secrets", kube_system_uid: uid.value });
}

async function writeSecrets(context: BoundContext, bootstrap: Bootstrap | null): Promise<Advance> {
  const custody = custodyBy(context.store.state, await lookAtCluster(context.ports));
  if (!mayWrite(custody)) {
    return waits(whyNotAgent(custody) ?? "the API does not show kube-system's UID");
  }
  const isJoining = await readJoinedServer(context.ports.disk) !== null;
  const pinned = isJoining ? ok(undefined) : await judgeAuthority(context, null);
  if (!pinned.ok) {
    const { code, message } = pinned.error;
    if (code !== null) await raiseCondition(context, code, message);
    return waits(message);
  }
  await clearConditions(context, "pin_mismatch");
  // A desired state that arrived meanwhile is younger than the answer to the enrollment.
  const secrets = context.store.state.desired?.state.secrets ??
    allowedAtFirst(context, bootstrap?.answer.secrets ?? {});
  const opened = openClusterSecrets(secrets, context.identity.sealingKeys);
  // Those of a cluster that there is already are its leader's, and may be younger than this answer.
  const wanted = opened.ok && isJoining ? await missing(context, opened.value) : opened;
  const applied = wanted.ok ? await applySecrets(context, wanted.value, false) : wanted;
  if (!applied.ok) return waits(applied.error);
  context.ports.log.write("info", "first_start_done", "the cluster runs and has its Secrets");
  return await go(context, { first_start: "done" });
}

/** Without a bucket that the owner has neither pinned nor approved: a desired state may bring its approval. */
function allowedAtFirst(
  context: BoundContext,
  secrets: Bootstrap["answer"]["secrets"],
): Bootstrap["answer"]["secrets"] {
  const { etcd_s3, ...others } = secrets;
  if (etcd_s3 === undefined || mayUseFirstTarget(context, etcd_s3)) return secrets;
  const message =
    `snapshots do not go to the bucket ${etcd_s3.bucket} of the enrollment yet: it is not s3_target of ` +
    "config.yaml, so the owner must approve it (change s3_target) in the desired state";
  context.ports.log.write("warn", "s3_target_not_approved", message);
  return others;
}

/** Of these Secrets the ones that are not there. */
async function missing(
  { ports }: BoundContext,
  secrets: readonly ClusterObject[],
): Promise<Result<readonly ClusterObject[], string>> {
  const absent: ClusterObject[] = [];
  for (const secret of secrets) {
    const live = await ports.k8s.get(secret.ref);
    if (!live.ok) return fail(live.error.message);
    if (live.value === null) absent.push(secret);
  }
  return ok(absent);
}

async function go(context: BoundContext, change: Partial<State>): Promise<Advance> {
  const stored = await context.store.commit((state) => ({ ...state, ...change }));
  return stored.ok ? MOVED : waits(stored.error.message);
}

function waits(why: string): Advance {
  return { moved: false, why };
}

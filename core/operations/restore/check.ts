import { findK3sProcesses } from "../../host/k3s_processes.ts";
import { type K3sSettings, readK3sSettings } from "../../host/k3s_settings.ts";
import { tokenHash } from "../../host/k3s_token.ts";
import { isOlderK3s, newestK3s } from "../../host/k3s_version.ts";
import type { SnapshotFacts } from "../../ports/snapshot_file.ts";
import type { Secret } from "../../secret.ts";
import { K3S_DATABASE_DIRECTORY, STATE_DIRECTORY } from "../../state/paths.ts";
import type { StepTools } from "../definition.ts";
import { patiently } from "../patiently.ts";
import { SNAPSHOT_RESOURCES, snapshotResource } from "../snapshots/snapshot_resource.ts";
import { isUnitUp } from "./hold.ts";
import { otherServersFindings } from "./other_servers.ts";
import type { RestoreParams } from "./params.ts";
import { findSource } from "./source.ts";
import { RESERVE_BYTES, roomBytes, stage, type Staged } from "./stage.ts";
import { configuredToken } from "./tokens.ts";

/** What came out of all checks. */
export interface Checked {
  /** Everything that is against the restore, for people; empty where nothing is. */
  readonly findings: readonly string[];
  /** The snapshot on the node, where it could be got there. */
  readonly staged: Staged | null;
  /** Bytes of the snapshot as it is kept. */
  readonly size: number;
  /** The result's code where something is against it. */
  readonly code?: string;
}

/** Shorter ones could stand in a database by chance. */
const MIN_UID = 16;

/**
 * Checks everything that can be checked while the cluster still runs, and gets the snapshot onto the node
 * for that. Tells all that is wrong, not only the first: an operator in need has no time for one a try.
 */
export async function checkRestore(tools: StepTools<RestoreParams>): Promise<Checked> {
  const { params, ports, node, open, say } = tools;
  const findings: string[] = [];
  const version = await ports.k3s.version();
  if (!version.ok) findings.push(`k3s does not run: ${version.error.message}`);

  const settings = await readK3sSettings(ports.disk);
  if (!settings.ok) findings.push(settings.error);
  else findings.push(...settingFindings(settings.value));
  findings.push(...await processFindings(tools));

  let token: Secret | null = params.token === null ? null : open(params.token);
  const configured = settings.ok ? await configuredToken(ports, settings.value) : null;
  findings.push(
    ...await otherServersFindings(tools, configured?.ok === true ? configured.value : null),
  );
  if (token === null && configured !== null) {
    if (!configured.ok) findings.push(configured.error);
    else if (configured.value === null) {
      findings.push(
        "neither k3s's configuration nor its server has a token: give it with the operation",
      );
    } else token = configured.value;
  }

  const source = await findSource(tools);
  if (!source.ok) return { findings: [...findings, source.error], staged: null, size: 0 };
  const { size } = source.value;
  const room = await roomBytes(ports.disk, [STATE_DIRECTORY]);
  const needed = source.value.kind === "s3" ? size : 0;
  if (!room.ok) findings.push(room.error.message);
  else if (room.value < needed) {
    findings.push(noRoom(`the snapshot (${size} bytes)`, needed, room.value));
  }
  if (!room.ok || room.value < needed) return { findings, staged: null, size };

  await say(`${params.snapshot}: ${size} bytes; looking at it`);
  const uid = params.kubeSystemUid ?? node.kubeSystemUid;
  const texts = uid !== null && uid.length >= MIN_UID ? [uid] : [];
  const staged = await patiently(
    tools,
    "the disk to take the snapshot",
    () => stage(tools, source.value, texts),
  );
  if (!staged.ok) {
    const { message, code } = staged.error;
    const all = [...findings, message];
    return { findings: all, staged: null, size, ...(code === undefined ? {} : { code }) };
  }
  const { facts } = staged.value;
  findings.push(
    ...snapshotFindings(facts, {
      k3sVersion: version.ok ? version.value : null,
      tokenHash: token === null ? null : tokenHash(token),
      tokenIsGiven: params.token !== null,
      toldHash: await toldTokenHash(tools),
      uid: texts[0] ?? null,
    }),
  );
  const left = await roomBytes(ports.disk, [K3S_DATABASE_DIRECTORY, STATE_DIRECTORY]);
  if (!left.ok) findings.push(left.error.message);
  else if (left.value < facts.plainSize) {
    const what = `the new database beside the old one (${facts.plainSize} bytes)`;
    findings.push(noRoom(what, facts.plainSize, left.value));
  }
  return { findings, staged: staged.value, size };
}

function settingFindings({ server }: K3sSettings): readonly string[] {
  return server === null ? [] : [
    `${server.file} has the server ${server.url} to join: k3s resets no server that joins another; ` +
    "remove that key",
  ];
}

/** Another operation of k3s that is under way. */
async function processFindings({ ports }: StepTools<RestoreParams>): Promise<readonly string[]> {
  const up = await isUnitUp(ports);
  const processes = await findK3sProcesses(ports.machine);
  if (!processes.ok) {
    return [`whether a k3s runs here cannot be seen: ${processes.error.message}`];
  }
  return processes.value.flatMap(({ pid, work }) => {
    if (work === "etcd-snapshot") {
      return [`k3s takes or changes a snapshot at the moment (process ${pid}): try again after it`];
    }
    return up ? [] : [
      `a k3s server runs that systemd knows nothing of (process ${pid}), perhaps a reset that ` +
      "somebody began by hand: end it, or wait for it",
    ];
  });
}

/** What is known on this side, to hold against a snapshot. */
export interface Expected {
  readonly k3sVersion: string | null;
  /** Hash of the token that the reset would use. */
  readonly tokenHash: string | null;
  readonly tokenIsGiven: boolean;
  /** The snapshot's hash by k3s's own list, where that has it. */
  readonly toldHash: string | null;
  /** The kube-system UID that the cluster has to have. */
  readonly uid: string | null;
}

/** What is against restoring a whole snapshot. */
export function snapshotFindings(facts: SnapshotFacts, expected: Expected): readonly string[] {
  const findings: string[] = [];
  const hashes = facts.tokenHashes.length > 0
    ? facts.tokenHashes
    : expected.toldHash === null
    ? []
    : [expected.toldHash];
  const { tokenHash: hash, tokenIsGiven, k3sVersion, uid } = expected;
  if (hash !== null && hashes.length > 0 && !hashes.includes(hash)) {
    const which = tokenIsGiven ? "the given token" : "this node's token";
    findings.push(
      `${which} (hash ${hash}) is not the snapshot's (${hashes.join(", ")}): k3s would move the ` +
        "database aside and then fail; give the token that the cluster had at the time",
    );
  }
  const newest = newestK3s(facts.k3sVersions);
  if (newest !== null && k3sVersion !== null && isOlderK3s(k3sVersion, newest)) {
    findings.push(
      `this node's k3s ${k3sVersion} is older than the snapshot's ${newest}: boot an image with at ` +
        "least that version first",
    );
  }
  if (uid !== null && !facts.texts.includes(uid)) {
    findings.push(
      `the snapshot is of another cluster: kube-system's UID ${uid} is not in it; to restore it all ` +
        "the same, give its own as kube_system_uid",
    );
  }
  return findings;
}

/** The token hash that k3s's list has for the snapshot; null where it cannot tell. */
async function toldTokenHash(
  { ports, params }: StepTools<RestoreParams>,
): Promise<string | null> {
  const objects = await ports.k8s.list(SNAPSHOT_RESOURCES);
  if (!objects.ok) return null;
  const resources = (objects.value ?? []).map(snapshotResource);
  return resources.find((each) => each?.file === params.snapshot && each.tokenHash !== null)
    ?.tokenHash ?? null;
}

function noRoom(what: string, needed: number, room: number): string {
  return `there is no room on the disk for ${what}: ${needed} bytes are needed and ${room} are free ` +
    `beyond the ${RESERVE_BYTES} that stay free`;
}

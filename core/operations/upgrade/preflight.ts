import { readOsRelease } from "../../host/facts.ts";
import { entryOfRelease, imageFolder, isPart, partPath } from "../../host/slots.ts";
import type { BootView } from "../../ports/boot.ts";
import type { Artifact, Release } from "../../protocol/release.ts";
import { AGE_REFUSALS, type AgeRefusalCode } from "../../protocol/release_age.ts";
import { fail, ok, type Result } from "../../result.ts";
import { K3S_DATABASE_DIRECTORY, STATE_DIRECTORY } from "../../state/paths.ts";
import { bucketOf, folderPrefix } from "../bucket.ts";
import { apiIsUp } from "../api_is_up.ts";
import type { StepEnd, StepTools } from "../definition.ts";
import { lookFor } from "../look_for.ts";
import { clusterFindings } from "./cluster_findings.ts";
import { type PreflightFacts, preflightFindings, runningRelease } from "./findings.ts";
import { handPlan } from "./handed.ts";
import type { UpgradeParams } from "./params.ts";

type Tools = StepTools<UpgradeParams>;

/** How long the portal may keep the manifest from the agent, milliseconds. */
const MANIFEST_MS = 60_000;

/** Looks at everything that can be known before anything is changed, and tells all that is against it. */
export async function preflight(tools: Tools): Promise<StepEnd> {
  const { params, node, say } = tools;
  const facts = await readFacts(tools);
  const findings = preflightFindings(facts);
  const { booted, release, from } = facts;
  const image = release.ok ? release.value.image.artifacts[node.arch] : undefined;
  if (
    findings.length > 0 || !release.ok || image === undefined || booted.entry === null ||
    from === null
  ) {
    for (const finding of findings) await say(`against it: ${finding}`);
    const list = findings.map((finding, index) => `(${index + 1}) ${finding}`).join("; ");
    const what = findings.length === 1 ? "one thing is" : `${findings.length} things are`;
    return {
      kind: "failed",
      code: facts.tooOld ?? "checks_failed",
      message: `nothing was changed: ${what} against it: ${list}`,
    };
  }
  const boot_entry = entryOfRelease(params.release, node.arch);
  const { k3s_version } = release.value.image;
  return {
    kind: "done",
    handed: handPlan({
      from,
      to: params.release,
      from_entry: booted.entry,
      boot_entry,
      image,
      k3s_version,
    }),
    evidence: `${booted.entry} (release ${from}) runs, and nothing is against ${boot_entry} with ` +
      `k3s ${k3s_version}`,
  };
}

async function readFacts(tools: Tools): Promise<PreflightFacts> {
  const { ports, params, node } = tools;
  const { boot, disk, k3s, machine } = ports;
  const { release, tooOld } = await fetchRelease(tools);
  const [booted, view, version, { bootId }] = await Promise.all([
    boot.booted(),
    boot.look(),
    k3s.version(),
    machine.facts(),
  ]);
  const image = release.ok ? release.value.image.artifacts[node.arch] : undefined;
  const { imageVersion } = await readOsRelease(disk);
  const free = await disk.freeBytes(STATE_DIRECTORY);
  const apiUp = await apiIsUp(tools);
  const candidates = [imageVersion ?? null, ...node.releases];
  return {
    to: params.release,
    arch: node.arch,
    release,
    tooOld,
    from: runningRelease(booted, node.arch, candidates),
    booted,
    boot: view,
    bootId,
    k3s: version.ok ? version : fail(`k3s does not run: ${version.error.message}`),
    apiUp,
    clusterFindings: apiUp ? await clusterFindings(tools) : [],
    pendingRestart: node.pendingRestart,
    snapshotTarget: await snapshotTarget(tools),
    reclaimableBytes: view.ok ? await reclaimable(tools, view.value, image) : 0,
    diskFreeBytes: free.ok ? free : fail(free.error.message),
  };
}

/** The verified manifest; the portal, when it is only out of reach, is asked for a while. */
async function fetchRelease(
  tools: Tools,
): Promise<Pick<PreflightFacts, "release" | "tooOld">> {
  const { params, release } = tools;
  let last: Result<Release, string> = fail(`release ${params.release}: not asked for`);
  let tooOld: AgeRefusalCode | null = null;
  await lookFor(tools, "the release's manifest", MANIFEST_MS, async () => {
    const got = await release(params.release);
    last = got.ok ? got : fail(got.error.message);
    tooOld = got.ok ? null : AGE_REFUSALS.find((code) => code === got.error.code) ?? null;
    return got.ok || got.error.code !== "manifest_unavailable" ? true : null;
  });
  return { release: last, tooOld };
}

/** Whether the snapshot before the upgrade has somewhere to go. */
async function snapshotTarget({ node, ports, open, signal }: Tools): Promise<Result<void, string>> {
  const settings = node.secrets.etcd_s3;
  if (settings !== undefined) {
    const page = await ports.s3.list(bucketOf(settings, open), folderPrefix(settings.folder), {
      pageSize: 1,
      signal,
    });
    // Keys that may write and read but not list are enough for a snapshot that is confirmed by its name.
    if (page.ok || page.error.code === "denied") return ok(undefined);
    return fail(`the snapshot before the upgrade cannot go to the bucket: ${page.error.message}`);
  }
  const database = await ports.disk.stat(`${K3S_DATABASE_DIRECTORY}/etcd/member/snap/db`);
  const size = database.ok ? database.value?.size ?? 0 : 0;
  const free = await ports.disk.freeBytes(STATE_DIRECTORY);
  if (!free.ok) return fail(free.error.message);
  if (free.value >= 2 * size) return ok(undefined);
  return fail(
    `the disk has no room for a snapshot before the upgrade: the database has ${size} bytes, and ` +
      `${free.value} are free`,
  );
}

/** What fetching the image needs less room for: what is there of it already, and what nobody needs any more. */
async function reclaimable(
  { ports, params, node }: Tools,
  { esp }: BootView,
  image: Artifact | undefined,
): Promise<number> {
  const { disk } = ports;
  const folder = imageFolder(esp);
  const entry = entryOfRelease(params.release, node.arch);
  let bytes = 0;
  const names = await disk.list(folder);
  for (const name of names.ok ? names.value ?? [] : []) {
    const path = `${folder}/${name}`;
    const isFetched = path === partPath(esp, entry) || name.toLowerCase() === entry;
    if (!isFetched && !isPart(name)) continue;
    const stat = await disk.stat(path);
    const size = stat.ok ? stat.value?.size ?? 0 : 0;
    // A whole image of the name is only replaced when the new one is there beside it.
    if (isPart(name) || size === image?.size) bytes += size;
  }
  return bytes;
}

import { imageFolder, isPart, partPath } from "../../host/slots.ts";
import type { ArtifactError } from "../../ports/artifact.ts";
import type { BootView } from "../../ports/boot.ts";
import type { Disk } from "../../ports/disk.ts";
import type { Result } from "../../result.ts";
import type { StepEnd, StepTools } from "../definition.ts";
import { type Plan, planOf } from "./handed.ts";
import type { UpgradeParams } from "./params.ts";

type Tools = StepTools<UpgradeParams>;

/** A FAT file system keeps no mode: it has what its mount says, and takes no narrower one. */
const IMAGE_MODE = 0o777;

/** How long to wait before a download that was cut is begun again, milliseconds. */
const AGAIN_MS = 10_000;

/**
 * Streams the image to the ESP, to a name that no boot loader takes, hashed on the way. What a cut leaves of
 * it is gone on from, after a reboot too.
 */
export async function fetchImage(tools: Tools): Promise<StepEnd> {
  const { ports } = tools;
  const plan = planOf(tools.handed);
  const { image, boot_entry } = plan;
  const view = await ports.boot.look();
  if (!view.ok) return { kind: "failed", message: view.error.message };
  const { esp } = view.value;
  for (const path of [partPath(esp, boot_entry), `${imageFolder(esp)}/${boot_entry}`]) {
    const hash = await ports.disk.sha256(path);
    if (hash.ok && hash.value === image.sha256) {
      return { kind: "done", evidence: `${path} has the SHA-256 of the manifest already` };
    }
  }
  const path = partPath(esp, boot_entry);
  await dropParts(ports.disk, view.value, path);
  const fetched = await fetchTo(tools, plan, path);
  if (!fetched.ok) {
    const { code, message } = fetched.error;
    return { kind: "failed", code: code === "disk_full" ? "esp_full" : code, message };
  }
  const synced = await ports.disk.syncDirectory(imageFolder(esp));
  if (!synced.ok) return { kind: "failed", message: synced.error.message };
  return {
    kind: "done",
    evidence: `${path}: ${image.size} bytes, SHA-256 ${image.sha256}, as the manifest says`,
  };
}

/** Takes away what upgrades left half fetched, but for one. */
export async function dropParts(
  disk: Disk,
  { esp }: BootView,
  keep: string | null = null,
): Promise<void> {
  const folder = imageFolder(esp);
  const names = await disk.list(folder);
  for (const name of names.ok ? names.value ?? [] : []) {
    const path = `${folder}/${name}`;
    if (isPart(name) && path !== keep) await disk.remove(path);
  }
}

/** Fetches until it is there, or is known never to come; trouble on the way is waited out. */
async function fetchTo(
  { ports, signal, say, progress }: Tools,
  { image }: Plan,
  path: string,
): Promise<Result<void, ArtifactError>> {
  const { artifacts, clock } = ports;
  for (;;) {
    let told: Promise<void> = Promise.resolve();
    const fetched = await artifacts.fetch(image, path, {
      mode: IMAGE_MODE,
      resume: true,
      signal,
      onProgress(done, total) {
        told = told.then(() => progress({ done, total, unit: "bytes" }));
      },
    });
    await told;
    if (fetched.ok || fetched.error.code !== "cut" || signal.aborted) return fetched;
    await say(`${fetched.error.message}; trying again`);
    await clock.sleep(Math.max(AGAIN_MS, fetched.error.waitMs ?? 0), signal);
    if (signal.aborted) return fetched;
  }
}

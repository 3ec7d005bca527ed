import { imageFolder, partPath } from "../../host/slots.ts";
import type { BootView } from "../../ports/boot.ts";
import { fail, ok, type Result } from "../../result.ts";
import type { StepEnd, StepTools } from "../definition.ts";
import { dropImage } from "./drop_image.ts";
import { type Plan, planOf } from "./handed.ts";
import type { UpgradeParams } from "./params.ts";

type Tools = StepTools<UpgradeParams>;

/**
 * Gives the image its name. What runs is pinned as the default before that: among entries without a
 * pinned one the new image, whose version is the highest, would be started by any reboot.
 */
export async function stageSlot(tools: Tools): Promise<StepEnd> {
  const plan = planOf(tools.handed);
  const before = await pinned(tools, plan);
  if (!before.ok) return { kind: "failed", message: before.error };
  const named = await giveName(tools, plan, before.value);
  const staged = named.ok ? await isStaged(tools, plan) : named;
  if (!staged.ok) {
    const dropped = await dropImage(tools.ports, plan.boot_entry);
    if (!dropped.ok) await tools.say(dropped.error);
    return { kind: "failed", message: staged.error };
  }
  return {
    kind: "done",
    evidence: `${plan.boot_entry} is offered by the boot loader; ${plan.from_entry} is the default`,
  };
}

/** Pins the image that runs, which has to be the one that the preflight saw. */
async function pinned(
  { ports: { boot } }: Tools,
  { from_entry }: Plan,
): Promise<Result<BootView, string>> {
  const { entry } = await boot.booted();
  if (entry !== from_entry) {
    return fail(`${entry ?? "an image that is not known"} runs, and not ${from_entry} any more`);
  }
  const view = await boot.look();
  if (!view.ok) return fail(view.error.message);
  if (view.value.default === from_entry) return view;
  const set = await boot.setDefault(from_entry);
  return set.ok
    ? view
    : fail(`${from_entry} cannot be pinned as the default: ${set.error.message}`);
}

/** The hash is read back from the ESP before the name is given, then the name is made to last. */
async function giveName(
  { ports: { disk } }: Tools,
  { boot_entry, image }: Plan,
  { esp }: BootView,
): Promise<Result<void, string>> {
  const folder = imageFolder(esp);
  const path = `${folder}/${boot_entry}`;
  const there = await disk.sha256(path);
  if (!there.ok) return fail(there.error.message);
  if (there.value !== image.sha256) {
    const part = partPath(esp, boot_entry);
    const hash = await disk.sha256(part);
    if (!hash.ok) return fail(hash.error.message);
    if (hash.value !== image.sha256) {
      const what = hash.value === null ? "is not there" : `has the SHA-256 ${hash.value}`;
      return fail(`${part} ${what}, when it is read back: the image is not ${image.sha256}`);
    }
    const renamed = await disk.rename(part, path);
    if (!renamed.ok) return fail(renamed.error.message);
  }
  const synced = await disk.syncDirectory(folder);
  return synced.ok ? ok(undefined) : fail(synced.error.message);
}

/** Whether everything is ready for the one boot: the image whole and offered, the old one pinned. */
export async function isStaged(
  { ports: { boot, disk } }: Tools,
  { boot_entry, from_entry, image }: Plan,
): Promise<Result<BootView, string>> {
  const view = await boot.look();
  if (!view.ok) return fail(view.error.message);
  const entry = view.value.entries.find(({ id }) => id === boot_entry);
  if (entry === undefined || entry.path === null) {
    return fail(`the boot loader does not offer ${boot_entry}, although its file is there`);
  }
  if (view.value.default !== from_entry) {
    const found = view.value.default ?? "none";
    return fail(`the default must be ${from_entry} until the new image is proven, and is ${found}`);
  }
  const hash = await disk.sha256(entry.path);
  if (!hash.ok) return fail(hash.error.message);
  if (hash.value !== image.sha256) {
    return fail(`${entry.path} is not the image any more: its SHA-256 is ${hash.value}`);
  }
  return view;
}

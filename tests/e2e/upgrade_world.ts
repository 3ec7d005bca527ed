import { createHash } from "node:crypto";
import type { OperationResult } from "../../core/protocol/operation.ts";
import { efiText, installBootctl, variablePath } from "../contract/stub_bootctl.ts";
import { inWorld, type World } from "./world.ts";

const IMAGES = "/boot/EFI/Linux";

/** The entry of a release's image. */
export function entryOf(release: string): string {
  return `pbx-${release}-amd64.efi`;
}

/** A world whose machine booted release 1.0.0 by systemd-boot, and saves snapshots on its own disk. */
export async function inUpgradeWorld(test: (world: World) => Promise<void>): Promise<void> {
  await inWorld(async (world) => {
    const write = async (path: string, content: string | Uint8Array) => {
      await Deno.mkdir(world.root + path.slice(0, path.lastIndexOf("/")), { recursive: true });
      const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
      await Deno.writeFile(world.root + path, bytes);
    };
    const program = async (path: string, script: string) => {
      await write(path, `#!/bin/sh\n${script}\n`);
      await Deno.chmod(world.root + path, 0o755);
    };
    await installBootctl({ write, program }, 252);
    for (const release of ["0.9.0", "1.0.0"]) {
      await write(`${IMAGES}/${entryOf(release)}`, `image ${release}`);
    }
    await boots(world, "1.0.0");
    await world.desire({ secrets: { etcd_s3: null } });
    await test(world);
  });
}

/** The machine starts an image: what the loader and the image leave for the agent to see. */
export async function boots(world: World, release: string): Promise<void> {
  const selected = `${world.root}${variablePath("LoaderEntrySelected")}`;
  await Deno.writeFile(selected, efiText(entryOf(release)));
  await Deno.remove(`${world.root}${variablePath("LoaderEntryOneShot")}`).catch(() => {});
  await world.write("/etc/os-release", `PRETTY_NAME=Node\nIMAGE_VERSION=${release}\n`, 0o644);
  await world.node.reboot();
}

/** Puts a release with an image on the portal, and asks for it. */
export async function askFor(world: World, id: string, release: string): Promise<void> {
  const bytes = new TextEncoder().encode(`image ${release} `.repeat(1_000));
  await fetch(`${world.running.adminUrl}/admin/artifacts/${entryOf(release)}`, {
    method: "PUT",
    body: bytes,
  }).then((answer) => answer.body?.cancel());
  const image = {
    url: `{portal}/artifacts/${entryOf(release)}`,
    sha256: createHash("sha256").update(bytes).digest("hex"),
    size: bytes.length,
  };
  await world.admin("PUT", `/releases/${release}`, {
    payload: {
      version: release,
      created_at: "2026-02-01T00:00:00Z",
      agent: { version: "0.1.0", artifacts: {} },
      image: { k3s_version: K3S_VERSION, artifacts: { amd64: image, arm64: image } },
      addons: {},
    },
  });
  const operation = { id, kind: "cluster.upgrade", params: { release } };
  await world.admin("POST", "/clusters/demo/operations", operation);
}

/** What the fake k3s says it is. */
const K3S_VERSION = "v1.36.3+k3s1";

/** The kubelet reports, as it does some time after a boot. */
export function reportNode(world: World, ready: boolean): void {
  world.node.api()?.write("/api/v1/nodes/demo-1", {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: "demo-1" },
    status: {
      conditions: [{ type: "Ready", status: ready ? "True" : "False" }],
      nodeInfo: { kubeletVersion: K3S_VERSION },
    },
  }, "kubelet");
}

/** How an operation ended, as the portal heard it; null while it has not. */
export function resultOf(world: World, id: string): OperationResult | null {
  const { operations } = world.running.portal.state;
  const operation = operations.find((one) => one.id === id);
  return (operation?.result ?? null) as OperationResult | null;
}

/** A variable of the boot loader; empty where there is none. */
export async function variable(world: World, name: string): Promise<string> {
  const bytes = await Deno.readFile(world.root + variablePath(name)).catch(() => null);
  if (bytes === null) return "";
  return new TextDecoder("utf-16le").decode(bytes.subarray(4)).replace("\0", "");
}

/** The images on the ESP. */
export async function imagesOf(world: World): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const { name } of Deno.readDir(`${world.root}${IMAGES}`)) names.push(name);
  return names.sort();
}

/** How often the machine was told to restart. */
export async function reboots(world: World): Promise<number> {
  return (await world.node.systemctlCalls()).filter((call) => call === "reboot").length;
}

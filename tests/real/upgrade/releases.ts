import type { JsonObject } from "../../../core/json.ts";
import type { EarlyFault } from "../../lab/vm/init_script.ts";
import { type Image, makeImage } from "../../lab/vm/image.ts";
import type { InitrdFile } from "../../lab/vm/initrd.ts";
import { k3sFiles, NEW_K3S_VERSION } from "./k3s_stand_in.ts";
import { FIRST_RELEASE, type World } from "./world.ts";

/** What is wrong with a release's image. */
export type Fault = EarlyFault | "agent" | "k3s";

/** What a release is made of. */
export interface ReleaseOptions {
  readonly version: string;
  readonly fault?: Fault;
  /** The portal has only so many of the image's bytes. */
  readonly cutAt?: number;
}

/** The agent's program does not start without this one. */
const BROKEN_LIBRARY: InitrdFile = {
  path: "usr/lib/x86_64-linux-gnu/libgcc_s.so.1",
  text: "an empty library\n",
};

/** Builds a release's image and publishes the release, signed, at the portal. */
export async function publish(world: World, options: ReleaseOptions): Promise<Image> {
  const { version, fault, cutAt } = options;
  const { portal, folder } = world;
  const image = await makeImage(folder, {
    version,
    ...(fault === "hang" || fault === "panic" ? { fault } : {}),
    files: [
      ...k3sFiles(NEW_K3S_VERSION, fault === "k3s"),
      ...(fault === "agent" ? [BROKEN_LIBRARY] : []),
    ],
  });
  const bytes = await Deno.readFile(image.file);
  await portal.putArtifact(image.entry, bytes.subarray(0, cutAt ?? bytes.length));
  const { releases } = await portal.admin<{ releases: Record<string, { payload: JsonObject }> }>(
    "GET",
    "/admin/state",
  );
  const { sha256, size } = image;
  const artifact = { url: `{portal}/artifacts/${image.entry}`, sha256, size };
  const payload = {
    ...releases[FIRST_RELEASE]?.payload,
    version,
    image: { k3s_version: NEW_K3S_VERSION, artifacts: { amd64: artifact, arm64: artifact } },
  };
  await portal.admin("PUT", `/admin/releases/${version}`, { payload });
  await Deno.remove(image.file);
  return image;
}

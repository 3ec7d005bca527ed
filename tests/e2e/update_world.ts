import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { inWorld, type World } from "./world.ts";

/** The machine's program, and those beside it. */
export const BIN = "/var/lib/pbx-agent/bin/pbx-agent";

/** A program that says its version, and notes each start as anything else. */
export function stub(version: string, then = ""): string {
  return [
    "#!/bin/sh",
    `[ "$1" = version ] || exit 9`,
    `echo "pbx-agent ${version}"`,
    `echo "release keys: none"`,
    then,
    "",
  ].join("\n");
}

/** What a test changes about an offered version. */
export interface Offer {
  readonly version: string;
  readonly text: string;
  /** What the portal has behind the URL, where that is not the text itself. */
  readonly served?: Uint8Array<ArrayBuffer>;
  readonly gzip?: boolean;
  /** The release, `2.0.0` unless told. */
  readonly release?: string;
}

/** Puts a release with this agent on the portal. */
export async function offer(world: World, offer: Offer): Promise<void> {
  const { version, text, gzip = false, release = "2.0.0" } = offer;
  const bytes = new TextEncoder().encode(text);
  const encoded = gzip ? new Uint8Array(gzipSync(bytes)) : bytes;
  const name = `pbx-agent-${release}`;
  await fetch(`${world.running.adminUrl}/admin/artifacts/${name}`, {
    method: "PUT",
    body: offer.served ?? encoded,
  }).then((answer) => answer.body?.cancel());
  const artifact = {
    url: `{portal}/artifacts/${name}`,
    sha256: createHash("sha256").update(bytes).digest("hex"),
    size: bytes.length,
    ...(gzip ? { encoding: "gzip", encoded_size: encoded.length } : {}),
  };
  await world.admin("PUT", `/releases/${release}`, {
    payload: {
      version: release,
      created_at: "2026-02-01T00:00:00Z",
      agent: { version, artifacts: { amd64: artifact, arm64: artifact } },
      image: { k3s_version: "v1.36.3+k3s1", artifacts: {} },
      addons: {},
    },
  });
}

/** Wants the agent of a release. */
export async function want(world: World, version: string, release = "2.0.0"): Promise<void> {
  await world.desire({ release, agent: { version }, addons: [] });
}

/** A world whose machine has a program for the unit to start. */
export async function inUpdateWorld(test: (world: World) => Promise<void>): Promise<void> {
  await inWorld(async (world) => {
    await world.write(BIN, stub("0.1.0"), 0o755);
    await test(world);
  });
}

/** Whether something is at a path of the machine. */
export async function isThere(world: World, path: string): Promise<boolean> {
  return await Deno.stat(world.root + path).then(() => true, () => false);
}

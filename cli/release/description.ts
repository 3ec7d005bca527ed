import { join, resolve } from "node:path";
import { type Artifact, OptionDeclaration, Release } from "../../core/protocol/release.ts";
import { describeIssue } from "../../core/protocol/schema_error.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { ARCHITECTURES } from "../build/options.ts";
import { programName } from "../build/program_name.ts";
import { VERSION } from "../version.ts";
import { hashFile, hashGzipFile } from "./hash_file.ts";

/**
 * A release as its author writes it down: a manifest (protocol §6) without hashes and sizes, which are made
 * of the files themselves.
 */
export interface Description {
  readonly version: string;
  /** RFC 3339. */
  readonly created_at: string;
  /** `url`: the folder where the files of `dist` are published. `version`: the program's. */
  readonly agent: { readonly version?: string; readonly url: string };
  readonly image: {
    readonly k3s_version: string;
    readonly artifacts: Readonly<Record<string, DescribedArtifact>>;
  };
  readonly addons: Readonly<Record<string, unknown>>;
  /** Higher than that of the last release; left out, it is one more. */
  readonly sequence?: number;
  /** Agents that verified the release take nothing below this sequence any more. */
  readonly minimum?: { readonly sequence: number };
  /** RFC 3339; agents do not newly take the release after it. */
  readonly expires_at?: string;
  /** The first-start manifests by name, as files; relative paths begin at the description's folder. */
  readonly first_start?: Readonly<Record<string, { readonly file: string }>>;
  /** What an enrollment may bring to k3s beyond the list of the protocol. */
  readonly k3s?: unknown;
}

interface DescribedArtifact {
  /** Path of the file; relative ones begin at the description's folder. */
  readonly file: string;
  /** Path of its gzip copy, where that is what travels. */
  readonly gzip_file?: string;
  readonly url: string;
}

const KNOWN: Readonly<Record<string, readonly string[]>> = {
  description: [
    "version",
    "created_at",
    "agent",
    "image",
    "addons",
    "sequence",
    "minimum",
    "expires_at",
    "first_start",
    "k3s",
  ],
  first_start: ["file"],
  k3s: ["config", "registries"],
  minimum: ["sequence"],
  agent: ["version", "url"],
  image: ["k3s_version", "artifacts"],
  artifact: ["file", "gzip_file", "url"],
  option: Object.keys(OptionDeclaration.shape),
};

/**
 * Makes the manifest of a description; every artifact in it was read and hashed here. `folder` is the
 * description's, `dist` holds the built programs. The error is for people.
 */
export async function describeRelease(
  text: string,
  folder: string,
  dist: string,
): Promise<Result<Release, string>> {
  let description: Description;
  try {
    description = JSON.parse(text);
    checkMembers(description);
  } catch (error) {
    return fail(`the description: ${error instanceof Error ? error.message : String(error)}`);
  }
  const version = description.agent.version ?? VERSION;
  const images: [string, Artifact][] = [];
  for (const [name, described] of Object.entries(description.image.artifacts)) {
    const artifact = await hashArtifact(described, folder);
    if (!artifact.ok) return fail(`image ${name}: ${artifact.error}`);
    images.push([name, artifact.value]);
  }
  const firstStart = await hashFirstStart(description.first_start, folder);
  if (!firstStart.ok) return firstStart;
  const programs = await hashPrograms(description.agent.url, version, dist);
  if (!programs.ok) return programs;
  const release = Release.safeParse({
    version: description.version,
    created_at: description.created_at,
    agent: { version, artifacts: programs.value },
    image: {
      k3s_version: description.image.k3s_version,
      artifacts: Object.fromEntries(images),
    },
    addons: description.addons,
    sequence: description.sequence,
    minimum: description.minimum,
    expires_at: description.expires_at,
    first_start: firstStart.value,
    k3s: description.k3s,
  });
  return release.success
    ? ok(release.data)
    : fail(`the description makes no release: ${describeIssue(release.error)}`);
}

async function hashFirstStart(
  described: Description["first_start"],
  folder: string,
): Promise<Result<Release["first_start"], string>> {
  if (described === undefined) return ok(undefined);
  const hashes: Record<string, { sha256: string }> = {};
  for (const [name, { file }] of Object.entries(described)) {
    try {
      hashes[name] = { sha256: (await hashFile(resolve(folder, file))).sha256 };
    } catch (error) {
      const why = error instanceof Error ? error.message : error;
      return fail(`first_start ${name}: ${file} cannot be hashed: ${why}`);
    }
  }
  return ok(hashes);
}

async function hashPrograms(
  url: string,
  version: string,
  dist: string,
): Promise<Result<Record<string, Artifact>, string>> {
  const artifacts: Record<string, Artifact> = {};
  for (const architecture of ARCHITECTURES) {
    const name = programName(version, architecture);
    if (!await isFile(join(dist, name))) continue;
    const gzip = `${name}.gz`;
    const described = { file: name, gzip_file: gzip, url: `${url.replace(/\/+$/, "")}/${gzip}` };
    const artifact = await hashArtifact(described, dist);
    if (!artifact.ok) return artifact;
    artifacts[architecture] = artifact.value;
  }
  if (Object.keys(artifacts).length > 0) return ok(artifacts);
  return fail(`${dist} holds no program of version ${version}: build it first`);
}

async function hashArtifact(
  { file, gzip_file, url }: DescribedArtifact,
  folder: string,
): Promise<Result<Artifact, string>> {
  try {
    const { sha256, size } = await hashFile(resolve(folder, file));
    if (gzip_file === undefined) return ok({ url, sha256, size });
    const packed = await hashGzipFile(resolve(folder, gzip_file));
    if (packed.sha256 !== sha256 || packed.size !== size) {
      return fail(`${gzip_file} is not the gzip of ${file}`);
    }
    return ok({ url, sha256, size, encoding: "gzip", encoded_size: packed.encodedSize });
  } catch (error) {
    return fail(`${file} cannot be hashed: ${error instanceof Error ? error.message : error}`);
  }
}

/** A misspelt member would be left out of what is signed, and a hash would be somebody's claim. */
function checkMembers(description: Description): void {
  const members = (what: string, value: unknown, place = what) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      throw new Error(`${place} is not an object`);
    }
    for (const name of Object.keys(value)) {
      if (KNOWN[what]?.includes(name)) continue;
      const isHash = ["sha256", "size", "encoded_size"].includes(name);
      throw new Error(
        `${place} has '${name}'${isHash ? ": it is made of the file, not taken from here" : ""}`,
      );
    }
  };
  members("description", description);
  members("agent", description.agent);
  members("image", description.image);
  if (description.minimum !== undefined) members("minimum", description.minimum);
  if (description.k3s !== undefined) members("k3s", description.k3s);
  for (const [name, manifest] of Object.entries(description.first_start ?? {})) {
    members("first_start", manifest);
    if (typeof manifest.file !== "string") {
      throw new Error(`first_start ${name} names no file to hash`);
    }
  }
  for (const [name, template] of Object.entries(description.addons ?? {})) {
    // What is not the template of an add-on is told by the schema.
    const { options } = (template ?? {}) as { options?: object };
    for (const [option, declared] of Object.entries(options ?? {})) {
      members("option", declared, `addons.${name}.options.${option}`);
    }
  }
  if (typeof description.agent.url !== "string") throw new Error("agent has no url");
  for (const [name, artifact] of Object.entries(description.image.artifacts ?? {})) {
    members("artifact", artifact);
    if (typeof artifact.file !== "string") throw new Error(`image ${name} names no file to hash`);
  }
}

async function isFile(path: string): Promise<boolean> {
  return await Deno.stat(path).then((stat) => stat.isFile, () => false);
}

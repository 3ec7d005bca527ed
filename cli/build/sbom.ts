import { Buffer } from "node:buffer";

/** What a build reads of deno.lock (version 5). */
export interface LockFile {
  readonly specifiers: Readonly<Record<string, string>>;
  readonly npm: Readonly<Record<string, LockedPackage>>;
}

interface LockedPackage {
  readonly integrity: string;
  readonly dependencies?: readonly string[];
  readonly optionalDependencies?: readonly string[];
}

/** What the bill of materials is about. */
export interface SbomSubject {
  readonly version: string;
  /** The packages that the shipped program imports, for example `zod@4.6.7`. */
  readonly imported: readonly string[];
  readonly lock: LockFile;
}

/**
 * A CycloneDX 1.6 bill of materials of every package in the lock file. What the shipped program reaches
 * is `required`; what only development and tests use is `excluded`. It has no time and no serial number,
 * so that the same sources give the same bytes.
 */
export function createSbom({ version, imported, lock }: SbomSubject): unknown {
  const program = `pkg:generic/pbx-agent@${version}`;
  const shipped = reachable(lock, imported);
  const keys = Object.keys(lock.npm).sort();
  return {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: {
      component: {
        type: "application",
        "bom-ref": program,
        name: "pbx-agent",
        version,
        purl: program,
        licenses: [{ license: { id: "Apache-2.0" } }],
      },
    },
    components: keys.map((key) => component(lock, key, shipped.has(key))),
    dependencies: [
      { ref: program, dependsOn: imported.map((name) => keyOf(lock, name)).sort() },
      ...keys.map((key) => ({ ref: key, dependsOn: [...dependenciesOf(lock, key)].sort() })),
    ],
  };
}

function component(lock: LockFile, key: string, isShipped: boolean): unknown {
  const { name, version } = nameAndVersion(key);
  const [algorithm, digest = ""] = (lock.npm[key]?.integrity ?? "").split("-");
  if (algorithm !== "sha512") throw new Error(`deno.lock: ${key} has no SHA-512`);
  return {
    type: "library",
    "bom-ref": key,
    name,
    version,
    scope: isShipped ? "required" : "excluded",
    purl: `pkg:npm/${name.replace("@", "%40")}@${version}`,
    hashes: [{ alg: "SHA-512", content: Buffer.from(digest, "base64").toString("hex") }],
  };
}

/** A key of the lock is `name@version`, and `_peer@version` behind it where peers made a difference. */
function nameAndVersion(key: string): { readonly name: string; readonly version: string } {
  const found = /^(?<name>@?[^@]+)@(?<version>[^_]+)/.exec(key)?.groups;
  return { name: found?.["name"] ?? key, version: found?.["version"] ?? "" };
}

function dependenciesOf(lock: LockFile, key: string): ReadonlySet<string> {
  const { dependencies = [], optionalDependencies = [] } = lock.npm[key] ?? {};
  return new Set([...dependencies, ...optionalDependencies].map((name) => keyOf(lock, name)));
}

/** The lock names a dependency without its version where there is only one of that name. */
function keyOf(lock: LockFile, name: string): string {
  if (name in lock.npm) return name;
  const found = Object.keys(lock.npm).filter((key) =>
    key.startsWith(`${name}@`) || key.startsWith(`${name}_`)
  );
  const [only] = found;
  if (only === undefined || found.length > 1) {
    throw new Error(`deno.lock: ${name} is ${found.length} packages, not one`);
  }
  return only;
}

function reachable(lock: LockFile, imported: readonly string[]): ReadonlySet<string> {
  const reached = new Set(imported.map((name) => keyOf(lock, name)));
  // A set hands out what is added to it while it is walked.
  for (const key of reached) for (const next of dependenciesOf(lock, key)) reached.add(next);
  return reached;
}

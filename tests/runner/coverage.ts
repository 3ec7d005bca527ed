import { join } from "node:path";

/** Covered of all: lines or branches. */
export interface Share {
  readonly hit: number;
  readonly found: number;
}

/** How much of one file the tests reach. */
export interface FileCoverage {
  /** Its path in the repository. */
  readonly path: string;
  readonly lines: Share;
  readonly branches: Share;
}

/**
 * Reads the profiles in `directory` (what `deno test --coverage` left) and gives the coverage of
 * every file of core, worst first.
 */
export async function coreCoverage(
  cwd: string,
  directory: string,
): Promise<readonly FileCoverage[]> {
  await dropTruncated(directory);
  const base = new URL(`file://${join(cwd, "core")}/`).href;
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["coverage", "--quiet", "--lcov", `--include=^${base}`, directory],
    cwd,
  }).output();
  if (!success) throw new Error(`deno coverage: ${new TextDecoder().decode(stderr)}`);
  return parseLcov(new TextDecoder().decode(stdout), cwd)
    .toSorted((a, b) =>
      percent(a.lines) - percent(b.lines) || percent(a.branches) - percent(b.branches)
    );
}

/**
 * A process that a test kills (a started agent inherits the coverage) leaves half a profile, and
 * one such file would make the whole report fail. What is dropped counts as not covered.
 */
async function dropTruncated(directory: string): Promise<void> {
  for await (const { name } of Deno.readDir(directory)) {
    const path = join(directory, name);
    if (name.endsWith(".json") && !isJson(await Deno.readTextFile(path))) await Deno.remove(path);
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Reads an lcov report; paths are cut to be relative to `cwd`. */
export function parseLcov(text: string, cwd: string): readonly FileCoverage[] {
  return text.split("end_of_record").filter((record) => record.includes("SF:")).map((record) => {
    const value = (key: string) => new RegExp(`^${key}:(.*)$`, "m").exec(record)?.[1] ?? "";
    const path = value("SF");
    const prefix = cwd.endsWith("/") ? cwd : `${cwd}/`;
    return {
      path: path.startsWith(prefix) ? path.slice(prefix.length) : path,
      lines: { hit: Number(value("LH")), found: Number(value("LF")) },
      branches: { hit: Number(value("BRH")), found: Number(value("BRF")) },
    };
  });
}

/** The sum of several shares. */
export function total(shares: readonly Share[]): Share {
  const add = (key: keyof Share) => shares.reduce((so, share) => so + share[key], 0);
  return { hit: add("hit"), found: add("found") };
}

/** A share in percent; of nothing, everything is covered. */
export function percent({ hit, found }: Share): number {
  return found === 0 ? 100 : (100 * hit) / found;
}

import { createHash } from "node:crypto";
import { join } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { VERSION } from "../version.ts";
import { importedPackages } from "./imported_packages.ts";
import type { Architecture, BuildOptions } from "./options.ts";
import { programName } from "./program_name.ts";
import { REPOSITORY } from "./repository.ts";
import { createSbom } from "./sbom.ts";
import { type Download, installScript } from "./templates/install_script.ts";
import { simulateJob } from "./templates/simulate_job.ts";
import { UNIT } from "./templates/unit.ts";
import { PLACEHOLDERS, userData } from "./templates/user_data.ts";

/**
 * Writes everything beside the programs that stand in `folder` already: gzip copies, installers, unit,
 * bill of materials, and SHA256SUMS of all of them.
 */
export async function assemble(
  folder: string,
  architectures: readonly Architecture[],
  { downloadUrl, portalKeys }: Pick<BuildOptions, "downloadUrl" | "portalKeys">,
): Promise<void> {
  const downloads: Download[] = [];
  for (const architecture of architectures) {
    const name = programName(VERSION, architecture);
    const program = await Deno.readFile(join(folder, name));
    const packed = await promisify(gzip)(program, { level: 9 });
    await Deno.writeFile(join(folder, `${name}.gz`), packed);
    downloads.push({ architecture, file: `${name}.gz`, sha256: sha256(program) });
  }
  const script = installScript(VERSION, downloads);
  const texts: Readonly<Record<string, string>> = {
    "pbx-agent.service": UNIT,
    "install.sh": script,
    "user-data.yaml": userData(script, downloadUrl ?? PLACEHOLDERS.downloadUrl, portalKeys),
    "simulate-job.yaml": simulateJob(VERSION),
    "sbom.cdx.json": `${JSON.stringify(await sbom(), null, 2)}\n`,
  };
  for (const [name, text] of Object.entries(texts)) {
    await Deno.writeTextFile(join(folder, name), text);
  }
  await Deno.chmod(join(folder, "install.sh"), 0o755);
  await writeSums(folder);
}

async function sbom(): Promise<unknown> {
  const lock = JSON.parse(await Deno.readTextFile(join(REPOSITORY, "deno.lock")));
  return createSbom({ version: VERSION, imported: await importedPackages(), lock });
}

async function writeSums(folder: string): Promise<void> {
  const names: string[] = [];
  for await (const { name } of Deno.readDir(folder)) names.push(name);
  const lines: string[] = [];
  for (const name of names.sort()) {
    lines.push(`${sha256(await Deno.readFile(join(folder, name)))}  ${name}\n`);
  }
  await Deno.writeTextFile(join(folder, "SHA256SUMS"), lines.join(""));
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

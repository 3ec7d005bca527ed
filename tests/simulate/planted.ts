import process from "node:process";
import { applyChange, parsePatch } from "./apply_patch.ts";

/** What the search for a planted fault came to. */
export interface Found {
  /** The first seed that broke a rule; null where none of those tried did. */
  readonly seed: number | null;
  readonly rule?: string;
  readonly how?: string;
}

/** How to search for it: the arguments of `seeds.ts`. */
export interface Search {
  readonly profile: string;
  readonly agents: number;
  readonly hours: number;
  readonly from: number;
  readonly to: number;
}

/** Within this, every planted fault of a single node's agent is found. */
export const SEARCH: Search = { profile: "rough", agents: 2, hours: 6, from: 1, to: 20 };
/** For faults that only several nodes over a day meet. */
const FLEET_SEARCH: Search = { profile: "rough", agents: 8, hours: 24, from: 1, to: 10 };
/** Within this, every fault is that a wrong clock brings to light. */
const CLOCKS_SEARCH: Search = { profile: "clocks", agents: 2, hours: 4, from: 1, to: 60 };
/** Within so many seeds every planted fault of several servers is found. */
export const SERVERS_SEEDS = 300;

const ROOT = new URL("../../", import.meta.url).pathname;
const FAULTS = new URL("./faults/", import.meta.url).pathname;
/** Faults that only a clock that steps shows. */
const CLOCKS_FAULTS = new URL("./faults/clocks/", import.meta.url).pathname;
/** Faults that show too rarely for two nodes and six hours. */
const FLEET_FAULTS = new URL("./faults/fleet/", import.meta.url).pathname;
/** Faults that only clusters with several servers show. */
const SERVERS_FAULTS = new URL("./servers/faults/", import.meta.url).pathname;
/** What a simulation is made of. */
const SOURCES = [
  "core",
  "adapters",
  "simulate",
  "tests/simulate/seeds.ts",
  "tests/simulate/servers",
  "deno.json",
  "deno.lock",
];

/** The names of all planted faults, sorted. */
export function plantedFaults(): readonly string[] {
  return [FAULTS, CLOCKS_FAULTS, FLEET_FAULTS, SERVERS_FAULTS].flatMap(patchesIn).sort();
}

/** The patch that plants one. */
export function plantedPatch(fault: string): string {
  return Deno.readTextFileSync(`${folderOf(fault)}${fault}.patch`);
}

/** What was found, in one line. */
export function describeFound(fault: string, { seed, rule, how }: Found): string {
  if (seed === null) return `${fault}: NOT FOUND`;
  return `${fault}: seed ${seed}${rule === undefined ? "" : `, ${rule}`}: ${how}`;
}

function patchesIn(folder: string): readonly string[] {
  return [...Deno.readDirSync(folder)].map(({ name }) => name)
    .filter((name) => name.endsWith(".patch")).map((name) => name.slice(0, -".patch".length));
}

/** The folder that its patch is in. */
function folderOf(fault: string): string {
  return [CLOCKS_FAULTS, FLEET_FAULTS, SERVERS_FAULTS]
    .find((folder) => patchesIn(folder).includes(fault)) ?? FAULTS;
}

/**
 * Plants a fault in a copy of the sources and simulates until a rule breaks. Throws where the patch does
 * not apply any more, or the copy does not run.
 */
export async function searchFault(fault: string, search = searchOf(fault)): Promise<Found> {
  const folder = plant(fault);
  try {
    const { profile, agents, hours, from, to } = search;
    const script = folderOf(fault) === SERVERS_FAULTS
      ? ["tests/simulate/servers/seeds.ts", "--first", 1, SERVERS_SEEDS]
      : ["tests/simulate/seeds.ts", profile, agents, hours, from, to];
    const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [
        ...["run", "--no-check", "--frozen", "--no-prompt", "--allow-read", "--allow-env"],
        ...script.map(String),
      ],
      cwd: folder,
      stdin: "null",
    }).output();
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    if (!success) throw new Error(`${fault}: the simulation ended badly:\n${text(stderr)}`);
    return JSON.parse(text(stdout));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function searchOf(fault: string): Search {
  const folder = folderOf(fault);
  if (folder === CLOCKS_FAULTS) return CLOCKS_SEARCH;
  return folder === FLEET_FAULTS ? FLEET_SEARCH : SEARCH;
}

/** A copy of the sources with the fault in it. */
function plant(fault: string): string {
  const folder = Deno.makeTempDirSync({ prefix: "planted-" });
  for (const path of SOURCES) copy(ROOT + path, `${folder}/${path}`);
  for (const change of parsePatch(plantedPatch(fault))) {
    const path = `${folder}/${change.path}`;
    Deno.writeTextFileSync(path, applyChange(Deno.readTextFileSync(path), change));
  }
  return folder;
}

function copy(from: string, to: string): void {
  if (Deno.statSync(from).isFile) {
    Deno.mkdirSync(to.slice(0, to.lastIndexOf("/")), { recursive: true });
    return Deno.copyFileSync(from, to);
  }
  for (const { name } of Deno.readDirSync(from)) copy(`${from}/${name}`, `${to}/${name}`);
}

/** `planted.ts [FAULT...]`: which seed finds each fault; ends with 1 where one is not found. */
async function main(names: readonly string[]): Promise<void> {
  let missed = 0;
  for (const fault of names.length > 0 ? names : plantedFaults()) {
    const found = await searchFault(fault);
    if (found.seed === null) missed += 1;
    print(describeFound(fault, found));
  }
  if (missed > 0) process.exitCode = 1;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

if (import.meta.main) await main(Deno.args);

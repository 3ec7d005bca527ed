// The whole way from the sources to installed files, with the runtime that PBX_LAB or Deno's site offers.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { keyId } from "../../core/protocol/dsse.ts";
import { compileProgram } from "../../cli/build/compile.ts";
import { programName } from "../../cli/build/program_name.ts";
import { findCompiler, hostArchitecture } from "../../cli/build/runtime.ts";
import { VERSION } from "../../cli/version.ts";
import { bundleProgram } from "../lab/agent_program.ts";
import { mustRun, runCommand } from "../lab/command.ts";
import { buildDist, labRuntime } from "../lab/dist.ts";
import { assertRefused } from "../lab/refused.ts";
import { REPOSITORY } from "../architecture/source_files.ts";

const KEYS = ["a", "b"].map((letter) => new TextEncoder().encode(letter.repeat(32)));
const PROGRAM = programName(VERSION, hostArchitecture());
const lab: { folder?: string } = {};

function folder(): string {
  assert.ok(lab.folder, "nothing was built");
  return lab.folder;
}

Deno.test.beforeAll(async () => {
  lab.folder = await Deno.makeTempDir({ prefix: "pbx-build-" });
  // Of a copy: the two builds must see the same sources whatever happens to the real ones meanwhile.
  const rooms = ["core", "adapters", "simulate", "cli", "fixtures", "tests"];
  const names = [...rooms, "deno.json", "deno.lock"];
  await Deno.mkdir(join(lab.folder, "sources"));
  const from = names.map((name) => join(REPOSITORY, name));
  await mustRun("/bin/cp", ["-R", ...from, join(lab.folder, "sources")]);
});

Deno.test.afterAll(async () => {
  if (lab.folder !== undefined) await Deno.remove(lab.folder, { recursive: true });
});

async function build(out: string, ...more: string[]) {
  const sources = join(folder(), "sources");
  return await buildDist({ sources, out: join(folder(), out), releaseKeys: KEYS, more });
}

Deno.test("build: twice gives the same bytes", async () => {
  for (const out of ["one", "two"]) {
    const built = await build(out, "--arch", hostArchitecture());
    assert.equal(built.code, 0, built.stderr);
  }
  const [one, two] = await Promise.all(
    ["one", "two"].map((out) => Deno.readTextFile(join(folder(), out, "SHA256SUMS"))),
  );
  assert.equal(one, two);
});

Deno.test("build: its sums are those of all its files, and the gzip holds the program", async () => {
  const out = join(folder(), "one");
  const lines = (await Deno.readTextFile(join(out, "SHA256SUMS"))).trimEnd().split("\n");
  const named = lines.map((line) => line.split("  ")[1]);
  const files = (await Array.fromAsync(Deno.readDir(out))).map(({ name }) => name);
  assert.deepEqual(named, files.filter((name) => name !== "SHA256SUMS").sort());
  for (const line of lines) {
    const [sum, name = ""] = line.split("  ");
    const bytes = await Deno.readFile(join(out, name));
    assert.equal(createHash("sha256").update(bytes).digest("hex"), sum, name);
  }
  const program = await Deno.readFile(join(out, PROGRAM));
  const packed = gunzipSync(await Deno.readFile(join(out, `${PROGRAM}.gz`)));
  assert.ok(packed.equals(program));
});

Deno.test("build: the program has the release keys it was given, and no arguments add any", async () => {
  const said = await mustRun(join(folder(), "one", PROGRAM), ["version"]);
  assert.equal(said, `pbx-agent ${VERSION}\nrelease keys: ${KEYS.map(keyId).join(" ")}\n`);
});

/** Variables by which somebody may hope to widen what the runtime allows. */
const HOPES = {
  DENO_PERMISSION_BROKER_PATH: "/nowhere",
  DENO_NO_PROMPT: "0",
  DENO_FLAGS: "--allow-all",
  DENO_V8_FLAGS: "--expose-gc",
  NODE_OPTIONS: "--require=/probe.js",
};

Deno.test("build: the runtime refuses what is not in the list, whatever the arguments and the environment", async () => {
  const bundle = join(folder(), "probe.js");
  await bundleProgram("tests/lab/permission_probe.ts", bundle);
  const probe = join(folder(), "probe");
  for (const [name, value] of Object.entries(await labRuntime())) Deno.env.set(name, value);
  const machine = hostArchitecture();
  await compileProgram(await findCompiler(machine), machine, bundle, probe);
  assertRefused(await mustRun(probe, []));
  const flags = ["--allow-all", "-A", "--allow-run", "--allow-read=/", "--v8-flags=--expose-gc"];
  assertRefused(await mustRun(probe, flags, { env: HOPES }));
});

Deno.test("build: the program itself works with those permissions, and refuses another root", async () => {
  const program = join(folder(), "one", PROGRAM);
  const root = join(folder(), "root");
  const refused = await runCommand(program, ["run", "--root", root]);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /--root .* is for labs/);
});

Deno.test("build: the program leaves no compiled code where others could change it", async () => {
  const temporary = join(folder(), "tmp");
  await Deno.mkdir(temporary);
  await mustRun(join(folder(), "one", PROGRAM), ["version"], { env: { TMPDIR: temporary } });
  assert.deepEqual(await Array.fromAsync(Deno.readDir(temporary)), []);
});

Deno.test("build: a runtime of another machine fails the build, and says so", async () => {
  const other = hostArchitecture() === "arm64" ? "amd64" : "arm64";
  const wrong = join(folder(), "one", PROGRAM);
  const variable = `DENORT_BIN_${other.toUpperCase()}`;
  const before = Deno.env.get(variable);
  Deno.env.set(variable, wrong);
  try {
    const built = await build("three", "--all");
    assert.equal(built.code, 1);
    assert.match(built.stderr, new RegExp(`${other}: NOT BUILT: .*not for ${other}`));
    assert.equal(await Deno.stat(join(folder(), "three")).catch(() => null), null);
  } finally {
    if (before === undefined) Deno.env.delete(variable);
    else Deno.env.set(variable, before);
  }
});

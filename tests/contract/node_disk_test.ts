import assert from "node:assert/strict";
import { createNodeDisk } from "../../adapters/node/disk.ts";
import { diskError, isAbsent } from "../../adapters/node/disk_error.ts";
import { createRoot } from "../../adapters/node/root.ts";
import { code, done, utf8 } from "./disk_contract.ts";

async function inFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await body(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("createRoot: puts every path below the root, once", () => {
  const at = createRoot("/lab/");
  assert.equal(at("/etc/x"), "/lab/etc/x");
  assert.equal(at("//etc/x/"), "/lab/etc/x");
  assert.equal(at("/lab/etc/x"), "/lab/etc/x");
  assert.equal(at("/laboratory"), "/lab/laboratory");
  assert.equal(at("/lab"), "/lab");
  assert.equal(at("/"), "/lab");
});

Deno.test("createRoot: leaves paths as they are without a root, and makes a relative one absolute", () => {
  assert.equal(createRoot()("/etc/x"), "/etc/x");
  assert.equal(createRoot("/")("/etc/x"), "/etc/x");
  assert.equal(createRoot("lab")("/etc/x"), `${Deno.cwd()}/lab/etc/x`);
});

Deno.test("createRoot: refuses a path that climbs out", () => {
  assert.throws(() => createRoot("/lab")("/etc/../../x"), RangeError);
  assert.throws(() => createRoot("/lab")("etc"), RangeError);
});

Deno.test("createNodeDisk: never removes its root", () =>
  inFolder(async (root) => {
    assert.equal(code(await createNodeDisk({ root }).remove(root)), "io");
    assert.equal((await Deno.stat(root)).isDirectory, true);
  }));

Deno.test("createNodeDisk: writes below its root and nowhere else", () =>
  inFolder(async (root) => {
    const disk = createNodeDisk({ root });
    done(await disk.makeDirectory("/var/lib/x", 0o700));
    done(await disk.write("/var/lib/x/a", utf8("x"), 0o600));
    assert.equal(await Deno.readTextFile(`${root}/var/lib/x/a`), "x");
    assert.deepEqual(done(await disk.read(`${root}/var/lib/x/a`)), utf8("x"));
  }));

Deno.test("createNodeDisk: reads a file of /proc, whose size says 0", async () => {
  const disk = createNodeDisk();
  assert.equal(done(await disk.stat("/proc/self/status"))?.size, 0);
  const bytes = done(await disk.read("/proc/self/status"));
  assert.match(new TextDecoder().decode(bytes ?? utf8("")), /^Pid:\t\d+$/m);
});

Deno.test("createNodeDisk: says full where there is no room, and leaves the device there", async () => {
  const disk = createNodeDisk();
  assert.equal(code(await disk.write("/dev/full", utf8("x"), 0o666)), "full");
  assert.equal(code(await disk.append("/dev/full", utf8("x"), 0o666)), "full");
  assert.equal(done(await disk.stat("/dev/full"))?.kind, "other");
});

Deno.test("createNodeDisk: a write that breaks off leaves no half file and no wide one", () =>
  inFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/big`, "public");
    await Deno.chmod(`${folder}/big`, 0o666);
    // The second name shows what became of the file after its first one is gone.
    await Deno.link(`${folder}/big`, `${folder}/second`);
    // `ulimit -f` counts in blocks of 512 or 1,024 bytes; both are below what is written.
    const limited = `trap "" XFSZ; ulimit -f 8; exec "$0" "$@"`;
    const said = await runProgram(
      folder,
      `const big = await disk.write("${folder}/big", new Uint8Array(100_000), 0o600);
       await disk.append("${folder}/log", new Uint8Array(1_000), 0o600);
       const log = await disk.append("${folder}/log", new Uint8Array(100_000), 0o600);
       const of = async (name) => (await disk.stat("${folder}/" + name)).value;
       console.log(big.ok, await of("big"), (await of("second")).mode === 0o600);
       console.log(log.ok, (await of("log")).size);`,
      ["sh", "-c", limited, Deno.execPath(), "run", "--allow-all"],
    );
    assert.equal(said, "false null true\nfalse 1000");
  }));

Deno.test("createNodeDisk: follows links to files, but removes only the link", () =>
  inFolder(async (folder) => {
    const disk = createNodeDisk();
    await Deno.mkdir(`${folder}/real`);
    await Deno.writeTextFile(`${folder}/real/a`, "abc");
    await Deno.symlink(`${folder}/real`, `${folder}/link`);
    await Deno.mkdir(`${folder}/holds`);
    await Deno.symlink(`${folder}/real`, `${folder}/holds/link`);
    await Deno.symlink(`${folder}/nowhere`, `${folder}/dangling`);

    assert.deepEqual(done(await disk.read(`${folder}/link/a`)), utf8("abc"));
    assert.equal(done(await disk.stat(`${folder}/link`))?.kind, "directory");
    assert.equal(done(await disk.stat(`${folder}/dangling`)), null);
    for (const name of ["link/", "holds", "dangling"]) {
      assert.equal(done(await disk.remove(`${folder}/${name}`)), true, name);
    }
    assert.deepEqual(done(await disk.list(folder)), ["real"]);
    assert.equal(await Deno.readTextFile(`${folder}/real/a`), "abc");
  }));

Deno.test("createNodeDisk: tells a link from what it leads to, and changes no mode through it", () =>
  inFolder(async (folder) => {
    const disk = createNodeDisk();
    await Deno.writeTextFile(`${folder}/real`, "abc", { mode: 0o644 });
    await Deno.symlink(`${folder}/real`, `${folder}/link`);
    assert.equal(done(await disk.inspect(`${folder}/link`))?.kind, "link");
    assert.equal((await disk.restrict(`${folder}/link`, 0o600)).ok, false);
    assert.equal(done(await disk.inspect(`${folder}/real`))?.mode, 0o644);
    assert.equal(done(await disk.inspect("/dev/null"))?.kind, "other");
  }));

Deno.test("diskError: knows the errors of the system by name, by number and by permission", () => {
  const named = (name: string) => Object.assign(new Error(name), { code: name });
  const numbered = (number: number) => new Error(`says the system (os error ${number})`);
  const notCapable = Object.assign(new Error("Requires read access"), { name: "NotCapable" });
  const cases: readonly (readonly [unknown, string])[] = [
    [named("ENOSPC"), "full"],
    [named("EDQUOT"), "full"],
    [named("EROFS"), "read_only"],
    [named("EACCES"), "denied"],
    [named("EPERM"), "denied"],
    [named("ENOENT"), "missing"],
    [named("ENOTDIR"), "missing"],
    [named("EIO"), "io"],
    [numbered(28), "full"],
    [numbered(122), "full"],
    [numbered(30), "read_only"],
    [numbered(13), "denied"],
    [numbered(5), "io"],
    [notCapable, "denied"],
    ["no error at all", "io"],
  ];
  for (const [cause, expected] of cases) {
    assert.equal(diskError("write", "/a", cause).code, expected, String(cause));
    assert.equal(isAbsent(cause), expected === "missing");
  }
});

Deno.test("createNodeDisk: says denied where the program has no permission", () =>
  inFolder(async (folder) => {
    const said = await runProgram(
      folder,
      `const results = [await disk.read("/etc/hostname"), await disk.list("/etc"),
         await disk.write("${folder}/x", new Uint8Array(1), 0o600), await disk.stat("/etc"),
         await disk.remove("/etc/none"), await disk.sha256("/etc/hostname"),
         await disk.freeBytes("/etc")];
       console.log(results.map((result) => result.ok ? "ok" : result.error.code).join(" "));`,
      [Deno.execPath(), "run", "--no-prompt"],
    );
    assert.equal(said, Array(7).fill("denied").join(" "));
  }));

/** Runs a program that has the real disk as `disk`, and gives what it prints. */
async function runProgram(
  folder: string,
  body: string,
  [command = "", ...args]: readonly string[],
): Promise<string> {
  const module = import.meta.resolve("../../adapters/node/disk.ts");
  const head = `import { createNodeDisk } from "${module}";\nconst disk = createNodeDisk();\n`;
  await Deno.writeTextFile(`${folder}/program.ts`, head + body);
  const run = await new Deno.Command(command, {
    args: [...args, "--no-lock", `${folder}/program.ts`],
    env: { NO_COLOR: "1" },
  }).output();
  const complaint = new TextDecoder().decode(run.stderr);
  return new TextDecoder().decode(run.stdout).trim() || complaint;
}

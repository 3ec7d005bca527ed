import assert from "node:assert/strict";
import { createFakeDisk } from "../../adapters/fake/disk.ts";
import { createFakePrograms } from "../../adapters/fake/programs.ts";
import { createNodeClock } from "../../adapters/node/clock.ts";
import { createNodeDisk } from "../../adapters/node/disk.ts";
import { createNodePrograms } from "../../adapters/node/programs.ts";
import type { Disk } from "../../core/ports/disk.ts";
import type { Programs } from "../../core/ports/programs.ts";

interface ProgramsWorld {
  readonly programs: Programs;
  readonly disk: Disk;
  /** The text of a program that prints `output`, or exits with 3. */
  program(output: string | null): string;
  close(): Promise<void>;
}

function programsContract(name: string, open: () => Promise<ProgramsWorld>): void {
  Deno.test(`programs, ${name}: version gives what the program prints; a failure is one`, async () => {
    const { programs, disk, program, close } = await open();
    const put = (path: string, text: string) =>
      disk.write(path, new TextEncoder().encode(text), 0o755);
    await put("/bin/good", program("pbx-agent 1.0.0\nrelease keys: none\n"));
    await put("/bin/bad", program(null));
    assert.deepEqual(await programs.version("/bin/good"), {
      ok: true,
      value: "pbx-agent 1.0.0\nrelease keys: none\n",
    });
    const bad = await programs.version("/bin/bad");
    assert.equal(!bad.ok && bad.error.code, "failed");
    assert.equal(!bad.ok && bad.error.program, "/bin/bad");
    const none = await programs.version("/bin/none");
    assert.equal(!none.ok && none.error.code, "missing");
    assert.equal(!none.ok && none.error.program, "/bin/none");
    await close();
  });

  Deno.test(`programs, ${name}: link gives a second name, in place of what was there, that outlives a replacement of the first`, async () => {
    const { programs, disk, close } = await open();
    const bytes = (text: string) => new TextEncoder().encode(text);
    await disk.write("/bin/a", bytes("one"), 0o755);
    await disk.write("/bin/b", bytes("old"), 0o600);
    for (let twice = 0; twice < 2; twice++) {
      assert.deepEqual(await programs.link("/bin/a", "/bin/b"), { ok: true, value: undefined });
    }
    const stat = await disk.stat("/bin/b");
    assert.equal(stat.ok && stat.value?.mode, 0o755);
    await disk.write("/bin/new", bytes("two"), 0o755);
    await disk.rename("/bin/new", "/bin/a");
    assert.deepEqual(await disk.read("/bin/b"), { ok: true, value: bytes("one") });
    assert.deepEqual(await disk.list("/bin"), { ok: true, value: ["a", "b"] });
    const missing = await programs.link("/bin/none", "/bin/b");
    assert.equal(!missing.ok && missing.error.code, "missing");
    assert.deepEqual(await disk.read("/bin/b"), { ok: true, value: bytes("one") });
    await close();
  });
}

programsContract("fake", async () => {
  const disk = createFakeDisk();
  await disk.makeDirectory("/bin", 0o755);
  return {
    programs: createFakePrograms(disk),
    disk,
    program: (output) => output ?? "exit 3",
    close: () => Promise.resolve(),
  };
});

programsContract("node, with a root", async () => {
  const root = await Deno.makeTempDir();
  await Deno.mkdir(`${root}/bin`);
  return {
    programs: createNodePrograms({ root, clock: createNodeClock() }),
    disk: createNodeDisk({ root }),
    program: (output) =>
      output === null
        ? "#!/bin/sh\nexit 3\n"
        : `#!/bin/sh\n[ "$*" = version ] && printf '%s' '${output}'\n`,
    close: () => Deno.remove(root, { recursive: true }),
  };
});

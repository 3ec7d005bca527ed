import assert from "node:assert/strict";
import { createFakeMachine } from "../../../adapters/fake/machine.ts";
import { parseOsRelease, readHostFacts } from "../../../core/host/facts.ts";
import type { Disk } from "../../../core/ports/disk.ts";
import { fail, ok } from "../../../core/result.ts";

/** The two calls that reading facts makes, answered from a table of files. */
function diskOf(files: Record<string, string>, freeBytes: number | null): Disk {
  const io = (path: string) => fail({ code: "io", path, message: "broken" } as const);
  const answers: Pick<Disk, "read" | "freeBytes"> = {
    read: (path) => {
      const content = files[path];
      if (content === "broken") return Promise.resolve(io(path));
      return Promise.resolve(ok(content === undefined ? null : new TextEncoder().encode(content)));
    },
    freeBytes: (path) =>
      Promise.resolve(
        path !== "/var/lib/pbx-agent" || freeBytes === null ? io(path) : ok(freeBytes),
      ),
  };
  return answers as Disk;
}

const SHIPPED = { "/usr/lib/os-release": 'PRETTY_NAME="Shipped 1"\n' };

Deno.test("readHostFacts: what the machine, its os-release and its disk say", async () => {
  const files = { ...SHIPPED, "/etc/os-release": 'PRETTY_NAME="Chosen 2"\n' };
  const machine = createFakeMachine({ bootId: "5cc31d0c-2f6b-4a5e-9c0d-3a1f7b8e9d01" });
  assert.deepEqual(await readHostFacts({ disk: diskOf(files, 1_000), machine }), {
    bootId: "5cc31d0c-2f6b-4a5e-9c0d-3a1f7b8e9d01",
    uptimeSeconds: 123,
    os: "Chosen 2",
    kernel: "6.12.0",
    memoryAvailableBytes: 3_072_000_000,
    diskFreeBytes: 1_000,
  });
});

Deno.test("readHostFacts: takes the distribution's os-release where /etc has none it can read", async () => {
  const machine = createFakeMachine();
  for (const files of [SHIPPED, { ...SHIPPED, "/etc/os-release": "broken" }]) {
    assert.equal((await readHostFacts({ disk: diskOf(files, 0), machine })).os, "Shipped 1");
  }
});

Deno.test("readHostFacts: what cannot be had is empty and the rest stays", async () => {
  const nothing = {
    bootId: "",
    uptimeSeconds: 0,
    os: "",
    kernel: "",
    memoryAvailableBytes: 0,
    diskFreeBytes: 0,
  };
  const machine = createFakeMachine({
    bootId: null,
    uptimeSeconds: null,
    kernel: null,
    memoryAvailableBytes: null,
  });
  const disk = diskOf({ "/etc/os-release": "broken" }, null);
  assert.deepEqual(await readHostFacts({ disk, machine }), nothing);
  machine.set({ kernel: "6.12.0" });
  assert.deepEqual(await readHostFacts({ disk, machine }), { ...nothing, kernel: "6.12.0" });
});

Deno.test("parseOsRelease: reads values bare and in either quotes, and skips what is no assignment", () => {
  const text = [
    "# PRETTY_NAME=comment",
    "",
    'PRETTY_NAME="A \\"big\\" \\$OS \\\\ 1"\r',
    "IMAGE_VERSION='2026.08.1'",
    "not an assignment",
  ].join("\n");
  assert.deepEqual(parseOsRelease(text), {
    prettyName: 'A "big" $OS \\ 1',
    imageVersion: "2026.08.1",
  });
  assert.deepEqual(parseOsRelease("PRETTY_NAME=Debian"), { prettyName: "Debian" });
});

Deno.test("parseOsRelease: without a pretty name it makes one, if only an empty one", () => {
  assert.equal(parseOsRelease('NAME="PBX OS"\nVERSION=3').prettyName, "PBX OS 3");
  assert.equal(parseOsRelease("NAME=Debian").prettyName, "Debian");
  assert.equal(parseOsRelease("PRETTY_NAME=\nNAME=Debian").prettyName, "Debian");
  assert.equal(parseOsRelease("").prettyName, "");
});

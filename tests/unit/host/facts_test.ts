import assert from "node:assert/strict";
import {
  kernelRelease,
  parseBootId,
  parseMemAvailable,
  parseOsRelease,
  parseUptimeSeconds,
  readHostFacts,
} from "../../../core/host/facts.ts";
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
      Promise.resolve(path !== "/var/lib" || freeBytes === null ? io(path) : ok(freeBytes)),
  };
  return answers as Disk;
}

const NODE = {
  "/proc/sys/kernel/random/boot_id": "5cc31d0c-2f6b-4a5e-9c0d-3a1f7b8e9d01\n",
  "/proc/uptime": "4242.99 8000.10\n",
  "/proc/sys/kernel/osrelease": "6.12.41-amd64\n",
  "/proc/meminfo": "MemTotal:        8000000 kB\nMemFree:  1 kB\nMemAvailable:    6000000 kB\n",
  "/usr/lib/os-release": 'PRETTY_NAME="Shipped 1"\n',
};

Deno.test("readHostFacts: reads a node's own files", async () => {
  const files = { ...NODE, "/etc/os-release": 'PRETTY_NAME="Chosen 2"\n' };
  assert.deepEqual(await readHostFacts(diskOf(files, 1_000)), {
    bootId: "5cc31d0c-2f6b-4a5e-9c0d-3a1f7b8e9d01",
    uptimeSeconds: 4242,
    os: "Chosen 2",
    kernel: "6.12.41-amd64",
    memoryAvailableBytes: 6_144_000_000,
    diskFreeBytes: 1_000,
  });
});

Deno.test("readHostFacts: takes the distribution's os-release where /etc has none it can read", async () => {
  assert.equal((await readHostFacts(diskOf(NODE, 0))).os, "Shipped 1");
  const broken = { ...NODE, "/etc/os-release": "broken" };
  assert.equal((await readHostFacts(diskOf(broken, 0))).os, "Shipped 1");
});

Deno.test("readHostFacts: what is missing or unreadable is empty and the rest stays", async () => {
  const nothing = {
    bootId: "",
    uptimeSeconds: 0,
    os: "",
    kernel: "",
    memoryAvailableBytes: 0,
    diskFreeBytes: 0,
  };
  assert.deepEqual(await readHostFacts(diskOf({}, null)), nothing);
  const broken = Object.fromEntries(Object.keys(NODE).map((path) => [path, "broken"]));
  assert.deepEqual(await readHostFacts(diskOf(broken, null)), nothing);
  const one = await readHostFacts(diskOf({ ...NODE, "/proc/uptime": "broken" }, null));
  assert.deepEqual([one.uptimeSeconds, one.kernel], [0, "6.12.41-amd64"]);
});

Deno.test("parseMemAvailable: bytes, or null where the kernel does not say", () => {
  assert.equal(parseMemAvailable("MemAvailable: 1 kB\n"), 1024);
  assert.equal(parseMemAvailable("MemAvailable: 0 kB"), 0);
  for (const text of ["", "MemTotal: 1 kB", "xMemAvailable: 1 kB", "MemAvailable: -1 kB"]) {
    assert.equal(parseMemAvailable(text), null, text);
  }
});

Deno.test("parseUptimeSeconds: whole seconds, never rounded up", () => {
  assert.equal(parseUptimeSeconds("0.00 0.00\n"), 0);
  assert.equal(parseUptimeSeconds("59.99 1.00\n"), 59);
  assert.equal(parseUptimeSeconds("7"), 7);
  for (const text of ["", "x", "-1.00 0", "1e3 0", ".5"]) {
    assert.equal(parseUptimeSeconds(text), null, text);
  }
});

Deno.test("parseBootId: a UUID and nothing else", () => {
  const id = "5cc31d0c-2f6b-4a5e-9c0d-3a1f7b8e9d01";
  assert.equal(parseBootId(`${id}\n`), id);
  for (const text of ["", "5cc31d0c", `${id}0`, `${id} ${id}`, id.toUpperCase()]) {
    assert.equal(parseBootId(text), null, text);
  }
});

Deno.test("kernelRelease: the line without its end", () => {
  assert.equal(kernelRelease("6.12.41-amd64\n"), "6.12.41-amd64");
  assert.equal(kernelRelease(""), "");
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

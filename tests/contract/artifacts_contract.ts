import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import type { ArtifactError, ArtifactFile, Artifacts } from "../../core/ports/artifact.ts";
import type { Disk } from "../../core/ports/disk.ts";

/** What is behind a URL. */
export type Behind =
  | { readonly kind: "bytes"; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly kind: "cut"; readonly bytes: Uint8Array<ArrayBuffer>; readonly after: number }
  | { readonly kind: "status"; readonly status: number; readonly retryAfterS?: number };

/** An adapter, its disk, and servers. */
export interface ArtifactsWorld {
  readonly artifacts: Artifacts;
  readonly disk: Disk;
  /** Makes a URL with this behind it. */
  serve(behind: Behind): string;
  close(): Promise<void>;
}

/** Where the tests have their file. */
export const TARGET = "/bin/program.new";

const CONTENT = new TextEncoder().encode("a program ".repeat(30_000));

/** Compresses, in one block. */
export function zipped(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(gzipSync(bytes));
}

/** What a manifest says of a file. */
export function described(bytes: Uint8Array, url: string, gzip: boolean): ArtifactFile {
  return {
    url,
    sha256: createHash("sha256").update(bytes).digest("hex"),
    size: bytes.length,
    ...(gzip ? { encoding: "gzip" as const, encoded_size: zipped(bytes).length } : {}),
  };
}

/** How a download must not end well: what is served in place of {@link CONTENT}, and the code. */
interface Fault {
  readonly what: string;
  readonly gzip?: boolean;
  readonly change?: (artifact: ArtifactFile) => ArtifactFile;
  readonly behind: Behind;
  readonly code: ArtifactError["code"];
}

const bytes = (bytes: Uint8Array) =>
  ({ kind: "bytes", bytes: new Uint8Array(bytes) }) as const satisfies Behind;
const changed = CONTENT.slice();
changed[77] = 0;

const FAULTS: readonly Fault[] = [
  { what: "one byte is another", behind: bytes(changed), code: "wrong_hash" },
  {
    what: "one byte is another, in gzip",
    gzip: true,
    change: (artifact) => ({ ...artifact, encoded_size: zipped(changed).length }),
    behind: bytes(zipped(changed)),
    code: "wrong_hash",
  },
  { what: "it ends early", behind: bytes(CONTENT.slice(0, -1)), code: "wrong_size" },
  { what: "it goes on", behind: bytes(new Uint8Array([...CONTENT, 1])), code: "wrong_size" },
  {
    what: "more is in it than it says",
    gzip: true,
    change: (artifact) => ({ ...artifact, size: artifact.size - 1 }),
    behind: bytes(zipped(CONTENT)),
    code: "wrong_size",
  },
  {
    what: "less is in it than it says",
    gzip: true,
    change: (artifact) => ({ ...artifact, size: artifact.size + 1 }),
    behind: bytes(zipped(CONTENT)),
    code: "wrong_size",
  },
  {
    what: "a bomb: little travels and much is in it",
    gzip: true,
    change: ({ url }) => ({
      ...described(CONTENT, url, true),
      encoded_size: zipped(new Uint8Array(50_000_000)).length,
    }),
    behind: bytes(zipped(new Uint8Array(50_000_000))),
    code: "wrong_size",
  },
  {
    what: "it is no gzip",
    gzip: true,
    change: (artifact) => ({ ...artifact, encoded_size: CONTENT.length }),
    behind: bytes(CONTENT),
    code: "wrong_hash",
  },
  {
    what: "it is half a gzip file",
    gzip: true,
    change: (artifact) => ({ ...artifact, encoded_size: 300 }),
    behind: bytes(zipped(CONTENT).slice(0, 300)),
    code: "wrong_hash",
  },
  { what: "it is not there", behind: { kind: "status", status: 404 }, code: "refused" },
  { what: "it is elsewhere", behind: { kind: "status", status: 302 }, code: "refused" },
  { what: "the server cannot now", behind: { kind: "status", status: 503 }, code: "cut" },
  { what: "it is too much now", behind: { kind: "status", status: 429 }, code: "cut" },
  {
    what: "it breaks off at the same place again and again",
    behind: { kind: "cut", bytes: CONTENT, after: 1_000 },
    code: "cut",
  },
];

/** What every adapter of the port does. */
export function artifactsContract(name: string, open: () => Promise<ArtifactsWorld>): void {
  const test = (what: string, work: (world: ArtifactsWorld) => Promise<void>) =>
    Deno.test(`artifacts, ${name}: ${what}`, async () => {
      const world = await open();
      try {
        await work(world);
      } finally {
        await world.close();
      }
    });

  for (const gzip of [false, true]) {
    test(`a ${gzip ? "gzip" : "plain"} file arrives whole, with its mode, in place of what was there`, async (world) => {
      await world.disk.write(TARGET, new Uint8Array(9), 0o600);
      const url = world.serve(bytes(gzip ? zipped(CONTENT) : CONTENT));
      const progress: number[][] = [];
      const got = await world.artifacts.fetch(described(CONTENT, url, gzip), TARGET, {
        mode: 0o755,
        onProgress: (...step) => progress.push(step),
      });
      assert.deepEqual(got, { ok: true, value: undefined });
      const read = await world.disk.read(TARGET);
      assert.ok(read.ok && read.value !== null);
      assert.deepEqual(read.value, CONTENT);
      const stat = await world.disk.stat(TARGET);
      assert.equal(stat.ok && stat.value?.mode, 0o755);
      const travelled = gzip ? zipped(CONTENT).length : CONTENT.length;
      assert.deepEqual(progress.at(-1), [travelled, travelled]);
    });
  }

  test("what is wrong is told by its code, and no file is left", async (world) => {
    for (const { what, gzip = false, change, behind, code } of FAULTS) {
      const artifact = described(CONTENT, world.serve(behind), gzip);
      const got = await world.artifacts.fetch(change?.(artifact) ?? artifact, TARGET, {
        mode: 0o755,
      });
      assert.ok(!got.ok, what);
      assert.equal(got.error.code, code, `${what}: ${got.error.message}`);
      assert.deepEqual(await world.disk.read(TARGET), { ok: true, value: null }, what);
    }
  });

  test("a server that is busy for long says for how long", async (world) => {
    for (const status of [429, 503]) {
      const url = world.serve({ kind: "status", status, retryAfterS: 1_800 });
      const got = await world.artifacts.fetch(described(CONTENT, url, false), TARGET, {
        mode: 0o755,
      });
      assert.equal(!got.ok && got.error.code, "cut");
      assert.equal(!got.ok && got.error.waitMs, 1_800_000);
    }
  });

  test("a signal ends it, and a folder that is not there is the disk's trouble", async (world) => {
    const artifact = described(CONTENT, world.serve(bytes(CONTENT)), false);
    const signal = AbortSignal.abort();
    const stopped = await world.artifacts.fetch(artifact, TARGET, { mode: 0o755, signal });
    assert.equal(!stopped.ok && stopped.error.code, "stopped");
    const lost = await world.artifacts.fetch(artifact, "/nowhere/program", { mode: 0o755 });
    assert.equal(!lost.ok && lost.error.code, "disk");
  });
}

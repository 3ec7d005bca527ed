import assert from "node:assert/strict";
import { createFakeArtifacts } from "../../adapters/fake/artifacts.ts";
import { createFakeDisk } from "../../adapters/fake/disk.ts";
import { createNodeArtifacts } from "../../adapters/node/artifacts.ts";
import { createNodeClock } from "../../adapters/node/clock.ts";
import { createNodeDisk } from "../../adapters/node/disk.ts";
import type { Clock } from "../../core/ports/clock.ts";
import {
  artifactsContract,
  type ArtifactsWorld,
  type Behind,
  described,
  TARGET,
  zipped,
} from "./artifacts_contract.ts";
import { type RawPeer, startRawPeer, writeText } from "./raw_peer.ts";

artifactsContract("fake", async () => {
  const disk = createFakeDisk();
  await disk.makeDirectory("/bin", 0o755);
  const artifacts = createFakeArtifacts(disk);
  let urls = 0;
  return {
    artifacts,
    disk,
    serve(behind) {
      const url = `https://files.test/${urls++}`;
      artifacts.files.set(
        url,
        behind.kind === "bytes"
          ? behind.bytes
          : behind.kind === "status"
          ? behind
          : { bytes: behind.bytes, cutAfter: behind.after },
      );
      return url;
    },
    close: () => Promise.resolve(),
  };
});

artifactsContract("node", openNode);

/** Pauses before another try are short, and noted; silence is waited for as it is. */
function hurriedClock(pauses: number[]): Clock {
  const clock = createNodeClock();
  return {
    ...clock,
    sleep(ms, signal) {
      if (ms < 10_000) pauses.push(ms);
      return clock.sleep(ms < 10_000 ? 1 : ms, signal);
    },
  };
}

/** What was asked of a server: the headers, by lower-case name. */
type Seen = Readonly<Record<string, string>>;

interface NodeWorld extends ArtifactsWorld {
  readonly seen: Seen[];
  /** What was waited between tries, milliseconds. */
  readonly pauses: readonly number[];
  /** A server that sends so many bytes more each time and then hangs up. */
  stutter(bytes: Uint8Array, each: number, ranges: boolean): string;
}

async function openNode(): Promise<NodeWorld> {
  const root = await Deno.makeTempDir();
  await Deno.mkdir(`${root}/bin`);
  const behind: Behind[] = [];
  const seen: Seen[] = [];
  const pauses: number[] = [];
  const peers: RawPeer[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
    seen.push(Object.fromEntries(request.headers));
    const one = behind[Number(new URL(request.url).pathname.slice(1))];
    if (one?.kind === "bytes") return new Response(one.bytes);
    if (one?.kind !== "status") return new Response(null, { status: 599 });
    const { status, retryAfterS } = one;
    const headers = retryAfterS === undefined ? {} : { "retry-after": String(retryAfterS) };
    return new Response(null, { status, headers });
  });

  function stutter(bytes: Uint8Array, each: number, ranges: boolean): string {
    const peer = startRawPeer(async (connection, head) => {
      const asked = /^range: bytes=([0-9]+)-/im.exec(head)?.[1];
      const from = ranges ? Number(asked ?? 0) : 0;
      const to = Math.min(ranges ? from + each : Number(asked ?? 0) + each, bytes.length);
      const range = `Content-Range: bytes ${from}-${bytes.length - 1}/${bytes.length}\r\n`;
      await writeText(
        connection,
        `HTTP/1.1 ${ranges && asked !== undefined ? `206 P\r\n${range}` : "200 OK\r\n"}` +
          `ETag: "one"\r\nContent-Length: ${bytes.length - from}\r\n\r\n`,
      );
      for (let at = from; at < to;) at += await connection.write(bytes.subarray(at, to));
    });
    peers.push(peer);
    return `http://127.0.0.1:${peer.port}/program`;
  }

  return {
    artifacts: createNodeArtifacts({
      version: "1.2.3",
      clock: hurriedClock(pauses),
      root,
      environment: {},
    }),
    disk: createNodeDisk({ root }),
    seen,
    pauses,
    stutter,
    serve(one) {
      if (one.kind === "cut") {
        const peer = startRawPeer(async (connection) => {
          await writeText(
            connection,
            `HTTP/1.1 200 OK\r\nContent-Length: ${one.bytes.length}\r\n\r\n`,
          );
          for (let at = 0; at < one.after;) {
            at += await connection.write(one.bytes.subarray(at, one.after));
          }
        });
        peers.push(peer);
        return `http://127.0.0.1:${peer.port}/program`;
      }
      return `http://127.0.0.1:${server.addr.port}/${behind.push(one) - 1}`;
    },
    async close() {
      await Promise.all(peers.map((peer) => peer.close()));
      await server.shutdown();
      await Deno.remove(root, { recursive: true });
    },
  };
}

Deno.test("artifacts, node: a download that is cut goes on where it was, in plain and in gzip, with ranges and without", async () => {
  const world = await openNode();
  const noise = crypto.getRandomValues(new Uint8Array(60_000));
  for (const gzip of [false, true]) {
    for (const ranges of [true, false]) {
      const url = world.stutter(gzip ? zipped(noise) : noise, 25_000, ranges);
      const got = await world.artifacts.fetch(described(noise, url, gzip), TARGET, { mode: 0o755 });
      assert.deepEqual(got, { ok: true, value: undefined }, `gzip ${gzip}, ranges ${ranges}`);
      assert.deepEqual(await world.disk.read(TARGET), { ok: true, value: noise });
    }
  }
  await world.close();
});

Deno.test("artifacts, node: a server that is busy for a moment is asked again after it", async () => {
  const world = await openNode();
  const url = world.serve({ kind: "status", status: 429, retryAfterS: 7 });
  const got = await world.artifacts.fetch(described(new Uint8Array(9), url, false), TARGET, {
    mode: 0o755,
  });
  assert.equal(!got.ok && got.error.code, "cut");
  assert.deepEqual(world.pauses, [7_000, 7_000]);
  assert.equal(world.seen.length, 3);
  await world.close();
});

Deno.test("artifacts, node: names itself and asks for the bytes as they are; nothing of the portal's goes along", async () => {
  const world = await openNode();
  const bytes = new Uint8Array(10);
  const artifact = described(bytes, world.serve({ kind: "bytes", bytes }), false);
  assert.ok((await world.artifacts.fetch(artifact, TARGET, { mode: 0o755 })).ok);
  const [headers = {}] = world.seen;
  assert.equal(headers["user-agent"], "pbx-agent/1.2.3");
  assert.equal(headers["accept-encoding"], "identity");
  assert.deepEqual(Object.keys(headers).filter((name) => name.startsWith("pbx-")), []);
  await world.close();
});

Deno.test("artifacts, node: what was left is gone on from by another process, and only what is missing travels", async () => {
  const world = await openNode();
  const noise = crypto.getRandomValues(new Uint8Array(60_000));
  const options = { mode: 0o600, resume: true };
  const progress: number[] = [];
  const onProgress = (done: number) => void progress.push(done);
  const cut = described(noise, world.serve({ kind: "cut", bytes: noise, after: 25_000 }), false);
  const first = await world.artifacts.fetch(cut, TARGET, options);
  assert.equal(!first.ok && first.error.code, "cut");
  assert.deepEqual(await world.disk.read(TARGET), { ok: true, value: noise.slice(0, 25_000) });

  const whole = described(noise, world.stutter(noise, 60_000, true), false);
  const second = await world.artifacts.fetch(whole, TARGET, { ...options, onProgress });
  assert.deepEqual(second, { ok: true, value: undefined });
  assert.deepEqual(await world.disk.read(TARGET), { ok: true, value: noise });
  assert.ok((progress[0] ?? 0) > 25_000 && progress.at(-1) === 60_000, String(progress));
  await world.close();
});

Deno.test("artifacts, node: what was left of another file, or lost bytes with the power, begins anew", async () => {
  const world = await openNode();
  const noise = crypto.getRandomValues(new Uint8Array(60_000));
  for (const left of [new Uint8Array(25_000), new Uint8Array(60_000), new Uint8Array(70_000)]) {
    assert.ok((await world.disk.write(TARGET, left, 0o600)).ok);
    const artifact = described(noise, world.stutter(noise, 60_000, true), false);
    const got = await world.artifacts.fetch(artifact, TARGET, { mode: 0o600, resume: true });
    assert.deepEqual(got, { ok: true, value: undefined });
    assert.deepEqual(await world.disk.read(TARGET), { ok: true, value: noise });
  }
  await world.close();
});

Deno.test("artifacts, node: what is wrong goes, whatever may be gone on from", async () => {
  const world = await openNode();
  const noise = crypto.getRandomValues(new Uint8Array(60_000));
  const artifact = described(noise, world.serve({ kind: "bytes", bytes: noise.slice(1) }), false);
  const got = await world.artifacts.fetch(artifact, TARGET, { mode: 0o600, resume: true });
  assert.equal(!got.ok && got.error.code, "wrong_size");
  assert.deepEqual(await world.disk.read(TARGET), { ok: true, value: null });
  await world.close();
});

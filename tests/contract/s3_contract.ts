import assert from "node:assert/strict";
import type { Bucket, S3, S3Error, S3ListOptions, S3Object, S3Page } from "../../core/ports/s3.ts";
import type { Result } from "../../core/result.ts";
import { Secret } from "../../core/secret.ts";

/** An adapter and a bucket behind it. */
export interface S3World {
  readonly s3: S3;
  /** The bucket, with keys that may do everything. */
  readonly bucket: Bucket;
  put(key: string, bytes: Uint8Array): Promise<void>;
  remove(key: string): Promise<void>;
  /** From now on a connection carries so many bytes at most; null for no limit. */
  cutAfter(bytes: number | null): void;
  /** Nobody is there, or somebody who says nothing. */
  goAway(how: "refused" | "silent"): void;
  /** Moves this node's clock away from the server's. */
  shiftClock(ms: number): void;
  /** The bucket with keys that are good and may not touch it. */
  stranger(): Bucket;
  close(): Promise<void>;
}

/** Keys that URLs, signatures and XML each make something else of when they are not careful. */
const ODD_KEYS = [
  "odd/a b+c&d=e",
  "odd/100% <ö> 'q\" (1)!*~",
  "odd/sub/x?y#z",
  "odd/日本😀.zip",
  "odd/%41%2F",
];

const MINUTE = 60_000;

/** What every {@link S3} does. */
export function s3Contract(name: string, open: () => Promise<S3World>): void {
  const test = (what: string, run: (world: S3World) => Promise<void>) =>
    Deno.test(`s3 (${name}): ${what}`, async () => {
      const world = await open();
      try {
        await run(world);
      } finally {
        await world.close();
      }
    });

  test("lists page by page in the order of the keys, below the prefix only", async (world) => {
    const { s3, bucket } = world;
    const keys = Array.from({ length: 7 }, (_, index) => `pre/${6 - index}`);
    for (const key of [...keys, "prefix", "other/1"]) await world.put(key, bytes(key.length));
    const pages: S3Object[][] = [];
    for (let after: string | null = null; pages.length === 0 || after !== null;) {
      const options: S3ListOptions = { pageSize: 3, ...(after === null ? {} : { after }) };
      const page: S3Page = good(await s3.list(bucket, "pre/", options));
      pages.push([...page.objects]);
      after = page.next;
      assert.ok(pages.length < 9, "the pages do not end");
    }
    assert.deepEqual(pages.map((page) => page.length), [3, 3, 1]);
    assert.deepEqual(pages.flat().map(({ key }) => key), keys.toSorted());
    assert.deepEqual(new Set(pages.flat().map(({ size }) => size)), new Set([5]));
    assert.deepEqual(good(await s3.list(bucket, "none/")), { objects: [], next: null });
  });

  test("lists, finds and gets keys with any characters", async (world) => {
    const { s3, bucket } = world;
    for (const [index, key] of ODD_KEYS.entries()) await world.put(key, bytes(100 + index));
    const { objects } = good(await s3.list(bucket, "odd/"));
    assert.deepEqual(objects.map(({ key }) => key).toSorted(), ODD_KEYS.toSorted());
    for (const object of objects) {
      const head = good(await s3.head(bucket, object.key));
      assert.equal(head?.size, object.size);
      assert.equal((await received(s3, bucket, object)).length, object.size);
    }
    const narrowed = good(await s3.list(bucket, "odd/100% <"));
    assert.deepEqual(narrowed.objects.map(({ key }) => key), [ODD_KEYS[1]]);
  });

  test("head tells what the listing tells, and null where nothing is", async (world) => {
    const { s3, bucket } = world;
    const before = Date.now();
    await world.put("a/b", bytes(1_234));
    const listed = await only(world, "a/b");
    assert.equal(listed.size, 1_234);
    assert.match(listed.etag, /^".+"$/);
    assert.ok(Math.abs(listed.modifiedAt - before) < 10 * MINUTE);
    const head = good(await s3.head(bucket, "a/b"));
    // A header has whole seconds.
    const seconds = ({ modifiedAt }: S3Object) => Math.floor(modifiedAt / 1_000);
    assert.ok(head !== null);
    assert.deepEqual({ ...head, modifiedAt: seconds(head) }, {
      ...listed,
      modifiedAt: seconds(listed),
    });
    assert.equal(good(await s3.head(bucket, "a/c")), null);
  });

  for (const size of [0, 1, 3_000_000]) {
    test(`gets an object of ${size} bytes, with the right totals`, async (world) => {
      const content = bytes(size);
      await world.put("big", content);
      assert.deepEqual(await received(world.s3, world.bucket, await only(world, "big")), content);
    });
  }

  test("gets over many connections what each of them cuts, byte for byte", async (world) => {
    const content = bytes(4_000_000);
    await world.put("big", content);
    const object = await only(world, "big");
    world.cutAfter(500_000);
    assert.deepEqual(await received(world.s3, world.bucket, object), content);
  });

  test("gives up where no connection brings a byte", async (world) => {
    await world.put("big", bytes(100_000));
    const object = await only(world, "big");
    world.cutAfter(0);
    assert.equal(bad(await world.s3.get(world.bucket, object, take)).code, "unreachable");
  });

  test("refuses an object that was replaced before or during the download", async (world) => {
    const { s3, bucket } = world;
    await world.put("a", bytes(3_000_000));
    const object = await only(world, "a");
    world.cutAfter(1_000_000);
    let isReplaced = false;
    const replace = async () => {
      if (!isReplaced) await world.put("a", bytes(3_000_000, 99));
      return isReplaced = true;
    };
    assert.equal(bad(await s3.get(bucket, object, replace)).code, "changed");
    assert.equal(bad(await s3.get(bucket, object, take)).code, "changed");
    await world.remove("a");
    assert.equal(bad(await s3.get(bucket, object, take)).code, "no_object");
  });

  test("refuses an object of another size than listed", async (world) => {
    await world.put("a", bytes(1_000));
    const object = await only(world, "a");
    for (const size of [0, 999, 1_001, 2_000_000]) {
      let taken = 0;
      const sink = (chunk: Uint8Array) => Promise.resolve((taken += chunk.length) >= 0);
      const error = bad(await world.s3.get(world.bucket, { ...object, size }, sink));
      assert.equal(error.code, "wrong_size");
      assert.ok(taken <= size, "no byte more than was listed");
    }
  });

  test("stops when the sink wants no more, and when the signal says so", async (world) => {
    const { s3, bucket } = world;
    await world.put("a", bytes(1_000_000));
    const object = await only(world, "a");
    let chunks = 0;
    const refuse = () => Promise.resolve(++chunks < 2);
    assert.equal(bad(await s3.get(bucket, object, refuse)).code, "stopped");
    assert.equal(chunks, 2);
    const controller = new AbortController();
    const { signal } = controller;
    const abort = () => Promise.resolve(controller.abort()).then(() => true);
    assert.equal(bad(await s3.get(bucket, object, abort, { signal })).code, "stopped");
    assert.equal(bad(await s3.get(bucket, object, take, { signal })).code, "stopped");
    assert.equal(bad(await s3.list(bucket, "", { signal })).code, "stopped");
    assert.equal(bad(await s3.head(bucket, "a", { signal })).code, "stopped");
  });

  test("the signal ends the wait for somebody who says nothing", async (world) => {
    world.goAway("silent");
    const controller = new AbortController();
    const listed = world.s3.list(world.bucket, "", { signal: controller.signal });
    setTimeout(() => controller.abort(), 40);
    assert.equal(bad(await listed).code, "stopped");
  });

  for (const how of ["refused", "silent"] as const) {
    test(`a server that is ${how} is unreachable`, async (world) => {
      world.goAway(how);
      assert.equal(bad(await world.s3.list(world.bucket, "")).code, "unreachable");
    });
  }

  const refusals: readonly (readonly [string, S3Error["code"], (world: S3World) => Bucket])[] = [
    ["another secret key", "wrong_keys", ({ bucket }) => ({ ...bucket, secretKey: hidden("s") })],
    [
      "an unknown access key",
      "wrong_keys",
      ({ bucket }) => ({ ...bucket, accessKey: hidden("a") }),
    ],
    ["another region", "wrong_region", ({ bucket }) => ({ ...bucket, region: "elsewhere-1" })],
    ["another bucket", "no_bucket", ({ bucket }) => ({ ...bucket, bucket: "no-such-bucket" })],
    ["keys without rights", "denied", (world) => world.stranger()],
    ["a clock too far ahead", "clock_skew", (world) => {
      world.shiftClock(16 * MINUTE);
      return world.bucket;
    }],
    ["a clock too far behind", "clock_skew", (world) => {
      world.shiftClock(-16 * MINUTE);
      return world.bucket;
    }],
  ];
  for (const [what, code, change] of refusals) {
    test(`${what}: ${code}, in words without a credential`, async (world) => {
      await world.put("a", bytes(10));
      const object = await only(world, "a");
      const changed = change(world);
      const { s3 } = world;
      const errors = [
        bad(await s3.list(changed, "")),
        bad(await s3.head(changed, "a")),
        bad(await s3.get(changed, object, take)),
      ];
      assert.deepEqual(errors.map((error) => error.code), [code, code, code]);
      for (const [index, { message }] of errors.entries()) {
        assert.ok(message.includes(`bucket "${changed.bucket}"`), message);
        if (index > 0) assert.ok(message.includes('key "a"'), message);
        if (code === "wrong_region") assert.ok(message.includes(world.bucket.region), message);
        for (const secret of [changed.accessKey, changed.secretKey]) {
          assert.ok(!message.includes(secret.reveal()), message);
        }
      }
    });
  }

  test("a clock that is a little off is good enough", async (world) => {
    for (const minutes of [-10, 10]) {
      world.shiftClock(minutes * MINUTE);
      good(await world.s3.list(world.bucket, ""));
    }
  });
}

async function only({ s3, bucket }: S3World, key: string): Promise<S3Object> {
  const { objects } = good(await s3.list(bucket, key));
  const [object, ...more] = objects;
  assert.ok(object !== undefined && more.length === 0, `one object ${key}`);
  return object;
}

/** Downloads, and checks the totals on the way. */
async function received(s3: S3, bucket: Bucket, object: S3Object): Promise<Uint8Array> {
  const whole = new Uint8Array(object.size);
  let at = 0;
  const sink = (chunk: Uint8Array, total: number) => {
    whole.set(chunk, at);
    at += chunk.length;
    assert.equal(total, at);
    return Promise.resolve(true);
  };
  assert.equal(good(await s3.get(bucket, object, sink)), object.size);
  assert.equal(at, object.size);
  return whole;
}

const take = () => Promise.resolve(true);

/** Bytes in which no stretch is like another. */
function bytes(size: number, seed = 1): Uint8Array {
  const words = new Uint32Array(Math.ceil(size / 4));
  for (let index = 0, word = seed; index < words.length; index++) {
    words[index] = word = Math.imul(word, 1_664_525) + 1_013_904_223;
  }
  return new Uint8Array(words.buffer, 0, size).slice();
}

function hidden(letter: string): Secret {
  return new Secret(`HIDDEN${letter.repeat(12)}`);
}

function good<T>(result: Result<T, S3Error>): T {
  assert.ok(result.ok, result.ok ? "" : `${result.error.code}: ${result.error.message}`);
  return result.value;
}

function bad<T>(result: Result<T, S3Error>): S3Error {
  assert.ok(!result.ok, "an error was expected");
  return result.error;
}

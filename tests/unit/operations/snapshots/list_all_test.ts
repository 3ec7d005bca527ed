import assert from "node:assert/strict";
import { listAll } from "../../../../core/operations/snapshots/list_all.ts";
import type { Bucket, S3, S3Page } from "../../../../core/ports/s3.ts";
import { ok } from "../../../../core/result.ts";

const BUCKET = { bucket: "snapshots" } as Bucket;

/** A bucket whose pages are made when they are asked for. */
function bucketOf(page: (number: number) => S3Page) {
  let asked = 0;
  const s3 = { list: () => Promise.resolve(ok(page(asked++))) } as unknown as S3;
  return {
    list: () => listAll(s3, BUCKET, "pre/", new AbortController().signal),
    asked: () => asked,
  };
}

function keys(count: number, name = "pre/key"): S3Page["objects"] {
  return Array.from({ length: count }, (_, index) => {
    return { key: `${name}${index}`, size: 1, etag: "", modifiedAt: 0 };
  });
}

Deno.test("listAll: every page of a listing that ends", async () => {
  const bucket = bucketOf((number) => {
    return { objects: keys(1_000), next: number < 9 ? `token ${number}` : null };
  });
  const listed = await bucket.list();
  assert.equal(listed.ok && listed.value.length, 10_000);
});

for (
  const [what, page, asked, says] of [
    ["has no end", (n) => ({ objects: keys(1), next: `t${n}` }), 10, /does not end after 10 pages/],
    ["has empty pages only", (n) => ({ objects: [], next: `t${n}` }), 10, /does not end/],
    [
      "goes in a circle",
      (n) => ({ objects: keys(1), next: `t${n % 2}` }),
      3,
      /comes back to a page/,
    ],
    [
      "has keys without end",
      (n) => ({ objects: keys(1_000, `pre/${"k".repeat(1_000)}`), next: `t${n}` }),
      3,
      /characters of keys/,
    ],
  ] satisfies [string, (number: number) => S3Page, number, RegExp][]
) {
  Deno.test(`listAll: a listing that ${what} is refused`, async () => {
    const bucket = bucketOf(page);
    const listed = await bucket.list();
    assert.ok(!listed.ok);
    assert.equal(listed.error.code, "refused");
    assert.match(listed.error.message, says);
    assert.equal(bucket.asked(), asked);
  });
}

Deno.test("listAll: keys that do not begin with the prefix are left out", async () => {
  const bucket = bucketOf(() => ({ objects: [...keys(1), ...keys(1, "other/")], next: null }));
  const listed = await bucket.list();
  assert.deepEqual(listed.ok && listed.value.map(({ key }) => key), ["pre/key0"]);
});

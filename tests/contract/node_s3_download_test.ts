import assert from "node:assert/strict";
import type { S3Error } from "../../core/ports/s3.ts";
import { type Answering, bad, OBJECT, s3Error, withServer } from "./scripted_s3.ts";

const TEN = new TextEncoder().encode("0123456789");

function collecting() {
  const taken: string[] = [];
  const decoder = new TextDecoder();
  const sink = (chunk: Uint8Array) => Promise.resolve(taken.push(decoder.decode(chunk)) > 0);
  return { sink, text: () => taken.join("") };
}

/** Sends the object from where it is asked for, `bytes` at a time, and then breaks off. */
function cutting(bytes: number, headers: Record<string, string> = { ETag: '"e"' }): Answering {
  return ({ headers: asked }) => {
    const from = Number(/^bytes=(\d+)-$/.exec(asked.get("range") ?? "")?.[1] ?? 0);
    const range = { "Content-Range": `bytes ${from}-9/10` };
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(TEN.slice(from, from + bytes));
        if (from + bytes >= TEN.length) return controller.close();
        // Later, so that the bytes before are on their way.
        setTimeout(() => controller.error(new Error("cut")), 20);
      },
    });
    const status = from === 0 ? 200 : 206;
    return new Response(body, { status, headers: { ...headers, ...(from === 0 ? {} : range) } });
  };
}

Deno.test("createNodeS3: a cut is resumed where it was", async () => {
  await withServer(cutting(4), async ({ s3, bucket, asked }) => {
    const { sink, text } = collecting();
    assert.deepEqual(await s3.get(bucket, OBJECT, sink), { ok: true, value: 10 });
    assert.equal(text(), "0123456789");
    assert.deepEqual(
      asked,
      ["", " bytes=4-", " bytes=8-"].map((range) => `GET /snapshots/k${range}`),
    );
  });
});

Deno.test("createNodeS3: without an ETag in the listing the first answer's is kept to", async () => {
  const etags: (string | null)[] = [];
  await withServer((request) => {
    etags.push(request.headers.get("if-match"));
    return cutting(6)(request);
  }, async ({ s3, bucket }) => {
    const { sink } = collecting();
    assert.ok((await s3.get(bucket, { ...OBJECT, etag: "" }, sink)).ok);
    assert.deepEqual(etags, [null, '"e"']);
  });
});

Deno.test("createNodeS3: a server that knows no ranges is skipped up to where it was", async () => {
  let answers = 0;
  await withServer((request) => {
    if (answers++ === 0) return cutting(4)(request);
    return new Response(TEN, { headers: { ETag: '"e"' } });
  }, async ({ s3, bucket }) => {
    const { sink, text } = collecting();
    assert.ok((await s3.get(bucket, OBJECT, sink)).ok);
    assert.equal(text(), "0123456789");
  });
});

Deno.test("createNodeS3: another object that comes all the same is refused", async () => {
  const others: readonly (readonly [Answering, S3Error["code"]])[] = [
    [() => new Response(TEN, { headers: { ETag: '"other"' } }), "changed"],
    [() => new Response(TEN.slice(1), { headers: { ETag: '"e"' } }), "wrong_size"],
    [() => new Response("01234567890", { headers: { ETag: '"e"' } }), "wrong_size"],
    [() => new Response(s3Error("NoSuchKey"), { status: 404 }), "no_object"],
    [() => new Response(s3Error("InvalidRange"), { status: 416 }), "changed"],
    [() => {
      const headers = { "Content-Range": "bytes 3-9/10" };
      return new Response(TEN.slice(3), { status: 206, headers });
    }, "changed"],
  ];
  for (const [answer, code] of others) {
    await withServer(answer, async ({ s3, bucket }) => {
      const { sink, text } = collecting();
      assert.equal(bad(await s3.get(bucket, OBJECT, sink)).code, code);
      assert.equal(text(), "", "nothing of it may reach the sink");
    });
  }
});

Deno.test("createNodeS3: what ends early or late without a length is the wrong size", async () => {
  const streamed = (text: string) => new Response(new Blob([text]).stream());
  for (const text of ["012345678", "01234567890"]) {
    await withServer(({ headers }) => {
      return headers.has("range") ? streamed("") : streamed(text);
    }, async ({ s3, bucket }) => {
      const error = bad(await s3.get(bucket, { ...OBJECT, etag: "" }, collecting().sink));
      assert.equal(error.code, "wrong_size");
    });
  }
});

Deno.test("createNodeS3: S3 that cannot now is asked again, five times in all", async () => {
  await withServer(
    () => new Response(s3Error("SlowDown"), { status: 503 }),
    async ({ s3, bucket, asked }) => {
      assert.equal(bad(await s3.get(bucket, OBJECT, collecting().sink)).code, "unreachable");
      assert.equal(asked.length, 5);
    },
  );
});

Deno.test("createNodeS3: a slow sink is not the server's silence", async () => {
  const size = 2_000_000;
  await withServer(() => new Response(new Uint8Array(size)), async ({ s3, bucket, asked }) => {
    let isFirst = true;
    // Longer than the 300 ms that the silence of 30 s takes here.
    const slow = async () => {
      if (isFirst) await new Promise((resolve) => setTimeout(resolve, 700));
      isFirst = false;
      return true;
    };
    assert.ok((await s3.get(bucket, { ...OBJECT, etag: "", size }, slow)).ok);
    assert.equal(asked.length, 1);
  });
});

Deno.test("createNodeS3: a sink that throws is the caller's to hear, and ends the exchange", async () => {
  await withServer(
    () => new Response(TEN, { headers: { ETag: '"e"' } }),
    async ({ s3, bucket }) => {
      const broken = () => Promise.reject(new Error("disk"));
      await assert.rejects(s3.get(bucket, OBJECT, broken), /disk/);
    },
  );
});

import assert from "node:assert/strict";
import { createNodeClock } from "../../adapters/node/clock.ts";
import { createNodeS3 } from "../../adapters/node/s3.ts";
import type { Bucket, S3Error } from "../../core/ports/s3.ts";
import { Secret } from "../../core/secret.ts";
import { makeAuthority, makeServerCertificate } from "../lab/certificates.ts";
import { eventually, openSockets } from "./open_sockets.ts";
import { bad, bucketAt, OBJECT, QUIET, s3Error, withServer } from "./scripted_s3.ts";

const ANSWERS: readonly (readonly [number, string, S3Error["code"], RegExp?])[] = [
  [403, s3Error("RequestTimeTooSkewed"), "clock_skew", /clock.*RequestTimeTooSkewed/],
  [403, s3Error("SignatureDoesNotMatch", "<StringToSign>HIDDEN</StringToSign>"), "wrong_keys"],
  [403, s3Error("InvalidAccessKeyId", "<AWSAccessKeyId>HIDDEN</AWSAccessKeyId>"), "wrong_keys"],
  [400, s3Error("ExpiredToken"), "wrong_keys", /expired/],
  [403, s3Error("AccessDenied"), "denied", /AccessDenied/],
  [404, s3Error("NoSuchBucket"), "no_bucket"],
  [400, s3Error("AuthorizationHeaderMalformed", "<Region>eu-2</Region>"), "wrong_region", /eu-2/],
  [
    301,
    s3Error("PermanentRedirect", "<Endpoint>x</Endpoint>"),
    "wrong_region",
    /PermanentRedirect/,
  ],
  [307, "", "wrong_region", /HTTP 307/],
  [400, s3Error("AuthorizationHeaderMalformed"), "refused", /AuthorizationHeaderMalformed/],
  [503, s3Error("SlowDown"), "unreachable", /SlowDown/],
  [500, s3Error("SomethingNew"), "unreachable", /SomethingNew/],
  [418, s3Error("SomethingNew"), "refused", /SomethingNew/],
  [403, "<html>HIDDEN proxy</html>", "denied", /HTTP 403/],
  [401, "", "wrong_keys", /HTTP 401/],
  [502, "Bad Gateway", "unreachable", /HTTP 502/],
  [404, "not found", "refused", /HTTP 404/],
  [400, s3Error("Line\nbreak HIDDEN"), "refused", /HTTP 400/],
  [400, s3Error("x".repeat(70_000)), "refused", /HTTP 400/],
  [200, "<html>a portal to log in to</html>", "refused", /is not a listing/],
];

for (const [status, body, code, words] of ANSWERS) {
  const said = /<Code>(.{1,40})/.exec(body)?.[1]?.replace(/<.*/, "") ?? "without a code";
  Deno.test(`createNodeS3: ${status} ${said} is ${code}`, async () => {
    await withServer(() => new Response(body, { status }), async ({ s3, bucket }) => {
      const error = bad(await s3.list(bucket, ""));
      assert.equal(error.code, code);
      assert.match(error.message, words ?? /^bucket "snapshots": /);
    });
  });
}

Deno.test("createNodeS3: head asks for the reason of a no, because HEAD has no body for it", async () => {
  await withServer(({ method }) => {
    return new Response(method === "HEAD" ? null : s3Error("RequestTimeTooSkewed"), {
      status: 403,
    });
  }, async ({ s3, bucket, asked }) => {
    assert.equal(bad(await s3.head(bucket, "k")).code, "clock_skew");
    assert.deepEqual(asked, ["HEAD /snapshots/k", "GET /snapshots/k bytes=0-0"]);
  });
});

Deno.test("createNodeS3: no bucket is not taken for no object", async () => {
  await withServer(
    () => new Response(s3Error("NoSuchBucket"), { status: 404 }),
    async ({ s3, bucket }) => {
      assert.equal(bad(await s3.head(bucket, "k")).code, "no_bucket");
      assert.equal(
        bad(await s3.get(bucket, OBJECT, () => Promise.resolve(true))).code,
        "no_bucket",
      );
    },
  );
});

Deno.test("createNodeS3: the same page twice ends the listing", async () => {
  const page = "<ListBucketResult><IsTruncated>true</IsTruncated>" +
    "<NextContinuationToken>t</NextContinuationToken></ListBucketResult>";
  await withServer(() => new Response(page), async ({ s3, bucket }) => {
    const first = await s3.list(bucket, "");
    assert.equal(first.ok && first.value.next, "t");
    assert.equal(bad(await s3.list(bucket, "", { after: "t" })).code, "refused");
  });
});

for (
  const [what, document, says] of [
    [
      "that says there are more and not where",
      "<IsTruncated>true</IsTruncated>",
      /does not name the next one/,
    ],
    [
      "with a name for the next one that is endless",
      `<IsTruncated>true</IsTruncated><NextContinuationToken>${
        "t".repeat(5_000)
      }</NextContinuationToken>`,
      /over 4096 characters/,
    ],
    [
      "with more keys than S3 puts on one",
      "<Contents><Key>k</Key><Size>1</Size><LastModified>2026-01-01T00:00:00Z</LastModified></Contents>"
        .repeat(1_001),
      /over 1000 keys/,
    ],
    ["of a million elements", "<a/>".repeat(1_000_000), /is not a listing/],
    ["that is larger than any", "<a>".padEnd(9_000_000, "a"), /over 8388608 bytes/],
  ] as const
) {
  Deno.test(`createNodeS3: a page ${what} is refused`, async () => {
    const body = `<ListBucketResult>${document}</ListBucketResult>`;
    await withServer(() => new Response(body), async ({ s3, bucket }) => {
      const error = bad(await s3.list(bucket, ""));
      assert.equal(error.code, "refused");
      assert.match(error.message, says);
    });
  });
}

Deno.test("createNodeS3: an endless listing is left at its limit", async () => {
  const endless = new ReadableStream({
    pull: (controller) => controller.enqueue(new Uint8Array(65_536).fill(32)),
  });
  await withServer(() => new Response(endless), async ({ s3, bucket }) => {
    assert.equal(bad(await s3.list(bucket, "")).code, "refused");
  });
});

Deno.test("createNodeS3: settings that cannot work are refused before anything is sent", async () => {
  await withServer(() => new Response(), async ({ s3, bucket, asked }) => {
    const settings: readonly (readonly [Partial<Bucket>, S3Error["code"]])[] = [
      [{ accessKey: new Secret("HIDDEN\r\nX-Evil: 1") }, "wrong_keys"],
      [{ accessKey: new Secret("") }, "wrong_keys"],
      [{ endpointCa: "no certificate" }, "refused"],
      [{ endpoint: "http://s3.example.com" }, "refused"],
      [{ region: "HIDDEN/x" }, "refused"],
    ];
    for (const [change, code] of settings) {
      assert.equal(bad(await s3.list({ ...bucket, ...change }, "")).code, code);
    }
    assert.equal(bad(await s3.head(bucket, "../k")).code, "refused");
    assert.deepEqual(asked, []);
  });
});

Deno.test("createNodeS3: the endpoint's CA adds trust to the agent's own", async () => {
  const [own, endpoint] = [await makeAuthority("own"), await makeAuthority("endpoint")];
  const s3 = createNodeS3({
    version: "1.2.3",
    environment: {},
    clock: createNodeClock(),
    caPem: own.cert,
  });
  for (const [authority, trusted] of [[own, false], [endpoint, true], [own, true]] as const) {
    const certificate = await makeServerCertificate(authority);
    const page = "<ListBucketResult></ListBucketResult>";
    const server = Deno.serve({ ...QUIET, ...certificate }, () => new Response(page));
    const bucket = bucketAt(`127.0.0.1:${server.addr.port}`);
    const trust = trusted ? { endpointCa: endpoint.cert } : {};
    assert.ok((await s3.list({ ...bucket, ...trust }, "")).ok);
    await server.shutdown();
  }
  const server = Deno.serve(
    { ...QUIET, ...await makeServerCertificate(endpoint) },
    () => new Response(),
  );
  const error = bad(await s3.list(bucketAt(`127.0.0.1:${server.addr.port}`), ""));
  assert.equal(error.code, "unreachable");
  assert.match(error.message, /unknown issuer/);
  await server.shutdown();
});

Deno.test("createNodeS3: no call leaves a connection open, however it ended", async () => {
  let answers = 0;
  const endless = () =>
    new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(65_536)) });
  const script = [
    () => new Response("<ListBucketResult></ListBucketResult>"),
    () => new Response(s3Error("NoSuchKey"), { status: 404 }),
    () => new Response(endless()),
    () => new Response(null, { status: 503 }),
  ];
  await withServer(() => script[answers++ % script.length]?.() ?? new Response(), async (world) => {
    const { s3, bucket } = world;
    const before = openSockets();
    const controller = new AbortController();
    const { signal } = controller;
    for (let round = 0; round < 8; round++) {
      await s3.list(bucket, "");
      await s3.head(bucket, "k");
      const large = { ...OBJECT, etag: "", size: 10_000_000_000 };
      await s3.get(bucket, large, (_, total) => Promise.resolve(total < 1_000_000));
      await s3.get(bucket, OBJECT, () => Promise.resolve(controller.abort()).then(() => true), {
        signal,
      });
    }
    assert.ok(answers > 16);
    await eventually(() => openSockets() <= before, "sockets stay open");
  });
});

Deno.test("createNodeS3: goes through the proxy, which sees a tunnel only", async () => {
  const proxied: string[] = [];
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const serving = (async () => {
    for await (const connection of listener) {
      const buffer = new Uint8Array(4_096);
      const length = await connection.read(buffer);
      proxied.push(
        new TextDecoder().decode(buffer.subarray(0, length ?? 0)).split("\r\n")[0] ?? "",
      );
      connection.close();
    }
  })();
  const s3 = createNodeS3({
    version: "1.2.3",
    environment: { HTTPS_PROXY: `http://127.0.0.1:${listener.addr.port}` },
    clock: createNodeClock(),
  });
  assert.equal(bad(await s3.list(bucketAt("s3.example.com"), "")).code, "unreachable");
  assert.deepEqual(proxied, ["CONNECT s3.example.com:443 HTTP/1.1"]);
  listener.close();
  await serving;
});

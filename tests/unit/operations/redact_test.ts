import assert from "node:assert/strict";
import fc from "fast-check";
import { encodeBase64 } from "../../../core/protocol/base64.ts";
import { createRedactor } from "../../../core/operations/redact.ts";
import { Secret } from "../../../core/secret.ts";

const HASH = "0123456789abcdef".repeat(4);
const KEY = "q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA=";
const JWT = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJrdWJlcm5ldGVzIn0.c2lnbmF0dXJlLXNpZ25hdHVyZQ";
const PEM = `-----BEGIN EC PRIVATE KEY-----\n${"MHcCAQEEIIrandom".repeat(4)}\nAwEHoUQDQg==\n` +
  "-----END EC PRIVATE KEY-----";

for (
  const [line, clean] of [
    [`token K10${HASH}::server:0123abcd is used`, "token [secret] is used"],
    ["K3S_TOKEN=abcdef", "K3S_TOKEN=[secret]"],
    ["agent-token: abcdef", "agent-token: [secret]"],
    ['"secret_key": "two words",', '"secret_key": [secret],'],
    ["secret_key='two words' next", "secret_key=[secret] next"],
    ['{\\"password\\":\\"hunter22\\"}', '{\\"password\\":[secret]}'],
    ["AWS_SECRET_ACCESS_KEY=a/b+c== AWS_REGION=eu", "AWS_SECRET_ACCESS_KEY=[secret] AWS_REGION=eu"],
    ["DB_PASS=hunter22", "DB_PASS=[secret]"],
    ["X-Api-Key: hunter22", "X-Api-Key: [secret]"],
    ["passwd = hunter22", "passwd = [secret]"],
    ["--agent-token hunter22 --debug", "--agent-token [secret] --debug"],
    ["--token=hunter22", "--token=[secret]"],
    ["Authorization: Bearer abcdefghij", "Authorization: [secret] [secret]"],
    ["sent Bearer abcdefghij", "sent Bearer [secret]"],
    ["got Basic dXNlcjpwYXNz", "got Basic [secret]"],
    ["X-Amz-Signature=abcdef&x=1", "X-Amz-Signature=[secret]"],
    [`a ${JWT} b`, "a [secret] b"],
    ["postgres://user:p@ss@db:5432/x", "postgres://[secret]@db:5432/x"],
    ["https://ghp_abc@github.com/x", "https://[secret]@github.com/x"],
    [`client-key-data: ${KEY}`, "client-key-data: [secret]"],
    [`"sealed":"${KEY}"`, '"sealed":[secret]'],
    [`a key ${KEY} alone`, "a key [secret] alone"],
    [`before\n${PEM}\nafter`, "before\n[secret]\nafter"],
    [PEM.replaceAll("\n", "\\n"), "[secret]"],
    [`k3s[1]: ${PEM.split("\n").slice(1).join("\nk3s[1]: ")}\nafter`, "[secret]\nafter"],
    [`a ${PEM.split("\n").slice(0, 2).join("\n")}`, "a [secret]"],
  ] as const
) {
  Deno.test(`redact: ${JSON.stringify(line).slice(0, 60)}`, () => {
    assert.equal(createRedactor().redact(line), clean);
  });
}

for (
  const line of [
    'time="2026-01-01T12:00:00Z" level=info msg="Starting k3s v1.36.3+k3s1 (866d743e)"',
    "I0101 12:00:00.000000   12 leaderelection.go:271] successfully acquired lease kube-system/x",
    `Pulled image rancher/mirrored-pause@sha256:${HASH}`,
    "E0101 12:00:00.1 1 reflector.go:204] Failed to watch *v1.Secret: secrets is forbidden",
    "Waiting for secret kube-system/pbx-etcd-s3 to be there",
    "etcd-snapshot-retention: 5 at https://127.0.0.1:6443/readyz",
    "--tls-private-key-file=/var/lib/rancher/k3s/server/tls/serving.key",
    "--service-account-signing-key-file=/var/lib/rancher/k3s/server/tls/service.key",
    "/var/lib/kubelet/pods/0b9c7218-c8e0-4bcc-bd5c-b239b802e3f1/volumes/kubernetes.io~projected/x",
    "/var/lib/rancher/k3s/agent/etc/containerd/config.toml.tmpl/Some/Long/Path2/That/Goes/On/And/On",
    `ServiceAccount cluster-admin-${HASH.slice(0, 32)} has cluster-admin`,
    "unable to open /etc/rancher/k3s/config.yaml: permission denied",
    'the bucket "snapshots", key "demo/pbx-op-1": NoSuchKey',
    "-----BEGIN CERTIFICATE-----",
  ]
) {
  Deno.test(`redact: stays readable: ${line.slice(0, 60)}`, () => {
    assert.equal(createRedactor().redact(line), line);
  });
}

/** Any secret that could be one: printable or not, of one line or of several. */
const SECRET = fc.oneof(
  fc.string({ minLength: 12, maxLength: 60 }),
  fc.string({ unit: "binary", minLength: 12, maxLength: 40 }),
  fc.base64String({ minLength: 12, maxLength: 80 }),
).filter((text) => text.trim().length >= 12 && text.isWellFormed());

Deno.test("redact: a known secret never survives, whatever it stands in and in whichever form", () => {
  fc.assert(
    fc.property(SECRET, fc.string(), fc.string(), (secret, before, after) => {
      const redactor = createRedactor();
      redactor.know(new Secret(secret));
      const inBase64 = (bytes: string) => encodeBase64(new TextEncoder().encode(bytes));
      const forms = [
        secret,
        JSON.stringify(secret).slice(1, -1),
        encodeURIComponent(secret),
        inBase64(secret),
      ];
      for (const form of forms) {
        const clean = redactor.redact(`${before}${form}${after}`);
        // It may stand once more in what is around it only by the test's own chance.
        if (!before.includes(form) && !after.includes(form)) {
          assert.ok(!clean.includes(form), JSON.stringify({ form, clean }));
        }
      }
    }),
    { seed: 7, numRuns: 300 },
  );
});

Deno.test("redact: a known secret is not left inside of base64 of more than itself", () => {
  fc.assert(
    fc.property(
      fc.string({ minLength: 16, maxLength: 40, unit: "grapheme-ascii" }),
      fc.nat(7),
      fc.nat(7),
      (secret, before, after) => {
        const redactor = createRedactor();
        redactor.know(new Secret(secret));
        const whole = "\u0001".repeat(before) + secret + "\u0001".repeat(after);
        const text = encodeBase64(new TextEncoder().encode(whole));
        for (const shown of [text, text.replaceAll("+", "-").replaceAll("/", "_")]) {
          const clean = redactor.redact(`data ${shown} end`);
          // What is left beside it are at most the bits that it shares with its neighbours.
          const left = clean.replaceAll("[secret]", "").replace(/^data | end$/g, "");
          assert.ok(clean.includes("[secret]"), clean);
          assert.ok(left.length <= Math.ceil((before + after) * 4 / 3) + 8, clean);
        }
      },
    ),
    { seed: 8, numRuns: 300 },
  );
});

Deno.test("redact: a secret of several lines is known by each of its lines", () => {
  const redactor = createRedactor();
  redactor.know(new Secret("first-line-of-it\r\nsecond-line-of-it\n"));
  assert.equal(redactor.redact("a second-line-of-it b"), "a [secret] b");
  assert.equal(redactor.redact("first-line-of-it"), "[secret]");
});

Deno.test("redact: what is too short to be a secret of ours tears no words apart", () => {
  const redactor = createRedactor();
  redactor.know(new Secret("abc"));
  redactor.know(new Secret(""));
  assert.equal(redactor.redact("abcdef"), "abcdef");
});

Deno.test("redact: text of any kind comes back in time that does not explode", () => {
  const redactor = createRedactor();
  const parts = ["token=", "token", "--token ", "AAAAAAAA\n", "eyJAAAAAAAA-", "a.b", "x://", '"'];
  const ends = ["", "-----END PRIVATE KEY-----"];
  for (const part of parts) {
    for (const end of ends) redactor.redact(part.repeat(40_000 / part.length) + end);
  }
});

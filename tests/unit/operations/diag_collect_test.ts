import assert from "node:assert/strict";
import { gunzipSync } from "fflate";
import { createFakeRandom } from "../../../adapters/fake/random.ts";
import type { JsonObject } from "../../../core/json.ts";
import { diagCollect } from "../../../core/operations/diag_collect.ts";
import { eventsRequest } from "../../../core/operations/outbox.ts";
import { decodeBase64, encodeBase64 } from "../../../core/protocol/base64.ts";
import sealedBox from "tweetnacl-sealedbox-js";
import { openSealed, type SealingKey, sealingPublicKey } from "../../../core/protocol/sealing.ts";
import { Secret } from "../../../core/secret.ts";
import type { Journal } from "../../../core/state/journal.ts";
import { cutMatrix } from "./cut_matrix.ts";
import { BUCKET, createMachine, type Machine } from "./machine.ts";
import { logOf, runToy } from "./toy.ts";

const UNITS = ["k3s.service", "pbx-agent.service"] as const;
const CONSENT = { by: "ada", at: "2026-01-01T12:00:00Z" };
const AS_TEXT = new TextEncoder();

function base64(text: string): string {
  return encodeBase64(AS_TEXT.encode(text));
}

/** The diagnostics of a result, unpacked. */
// deno-lint-ignore no-explicit-any -- a document of many shapes
function bundleOf({ result }: Journal): any {
  assert.equal(result?.state, "succeeded", JSON.stringify(result));
  const bytes = decodeBase64(String(result?.output?.["bundle"]));
  assert.ok(bytes !== null);
  return JSON.parse(new TextDecoder().decode(gunzipSync(bytes)));
}

function collect(machine: Machine, params: JsonObject = {}): Promise<Journal> {
  return runToy(machine, diagCollect, { consent: CONSENT, ...params });
}

Deno.test("diag.collect: versions, units and the last lines of two logs", async () => {
  const machine = createMachine();
  for (const unit of UNITS) {
    machine.systemd.logs.set(unit, Array.from({ length: 300 }, (_, n) => `${unit} line ${n}`));
  }
  const bundle = bundleOf(await collect(machine, { lines: 250 }));
  assert.deepEqual(bundle.consent, CONSENT);
  assert.equal(bundle.node, "demo-1");
  assert.deepEqual(bundle.versions, {
    agent: "0.1.0",
    k3s: "v1.36.3+k3s1",
    kernel: "6.12.0",
    os: "Debian GNU/Linux 13",
  });
  assert.deepEqual(bundle.units, { "k3s.service": "active", "pbx-agent.service": "unknown" });
  assert.equal(bundle.api_ready, true);
  for (const unit of UNITS) {
    assert.equal(bundle.logs[unit].left_out, 0);
    assert.equal(bundle.logs[unit].lines.length, 250);
    assert.equal(bundle.logs[unit].lines.at(-1), `${unit} line 299`);
  }
  assert.match(logOf(machine), /consent by ada at 2026-01-01T12:00:00Z/);
});

Deno.test("diag.collect: no more lines than were asked for, whatever journalctl prints beside them", async () => {
  const machine = createMachine(({ systemd }) => ({
    systemd: { ...systemd, journal: (unit) => systemd.journal(unit, 1_000) },
  }));
  const lines = Array.from({ length: 300 }, (_, n) => `line ${n}`);
  machine.systemd.logs.set("k3s.service", lines);
  const bundle = bundleOf(await collect(machine));
  assert.deepEqual(bundle.logs["k3s.service"].lines, lines.slice(-200));
});

Deno.test("diag.collect: works with the API and k3s down and no log to be had", async () => {
  const machine = createMachine(({ systemd }) => ({
    systemd: {
      ...systemd,
      journal: () =>
        Promise.resolve({
          ok: false,
          error: { code: "missing", program: "journalctl", message: "no journalctl here" },
        }),
    },
  }));
  machine.k8s.breakWith({ kind: "down" });
  const bundle = bundleOf(await collect(machine));
  assert.equal(bundle.api_ready, false);
  assert.deepEqual(bundle.logs["k3s.service"].lines, ["(no log: no journalctl here)"]);
});

const PEM_BODY = Array.from(
  { length: 6 },
  (_, n) => base64(`key material number ${n} ${"k".repeat(24)}`),
);
const PEM = ["-----BEGIN EC PRIVATE KEY-----", ...PEM_BODY, "-----END EC PRIVATE KEY-----"].join(
  "\n",
);
const HASH = "0123456789abcdef".repeat(4);
const SERVER_TOKEN = "fedcba98765432100123456789abcdef";
const JWT = `${base64('{"alg":"RS256"}').replace(/=/g, "")}.${
  base64('{"sub":"x-y-z"}').replace(/=/g, "")
}.c2ln`;

/** Secrets that lie in files of the node: in clear text where a log prints them in whatever form. */
const ON_NODE: Readonly<Record<string, string>> = {
  "k3s's token": SERVER_TOKEN,
  "the agent token": "plain-agent-token-of-k3s",
  "a user's password": "c0ffee00c0ffee00c0ffee00c0ffee00",
  "the node's password": "deadbeefdeadbeefdeadbeefdeadbeef",
  "a token in k3s's configuration": "token-in-the-config-yaml",
  "a registry's password": "password-in-registries-yaml",
  "a registry's token": "identity-token-in-registries-yaml",
  "the enrollment token": "enrollment-token-in-clear",
  "a client key of the kubeconfig": base64(PEM),
  "the opened token of the bootstrap": "k3s-token-in-clear",
  "the opened access key of the bucket": BUCKET.accessKey.reveal(),
  "the opened secret key of the bucket": BUCKET.secretKey.reveal(),
};

/** Secrets that only a pattern can know. */
const BY_PATTERN: Readonly<Record<string, readonly [line: string, secret: string]>> = {
  "another cluster's token": [`joined with K10${HASH}::node:other-password`, "other-password"],
  "a variable": ["DATABASE_PASSWORD=hunter2-hunter2", "hunter2-hunter2"],
  "a quoted setting": ['secret_key: "with two-words-in-it"', "two-words-in-it"],
  "a URL's password": ["dial postgres://app:url-password@db:5432", "url-password"],
  "a web token": [`sa token ${JWT} used`, JWT],
  "a bearer": ["Authorization: Bearer abcdefghijklmnop", "abcdefghijklmnop"],
  "a flag": ["--agent-token flag-value-1 --debug", "flag-value-1"],
  "a sealed box": [`{"sealed":"${"q83vEjRWeJCrze8S".repeat(6)}"}`, "q83vEjRWeJCrze8S"],
};

/** Every secret that was planted, as it may not come out, by its name. */
function plant(machine: Machine): Map<string, string> {
  const { disk, systemd, host } = machine;
  const k3s = "/var/lib/rancher/k3s/server";
  disk.put(`${k3s}/token`, `K10${HASH}::server:${SERVER_TOKEN}\n`);
  disk.put(`${k3s}/agent-token`, `${ON_NODE["the agent token"]}\n`);
  disk.put(`${k3s}/cred/passwd`, `${ON_NODE["a user's password"]},node,node,k3s:agent\n`);
  disk.put("/etc/rancher/node/password", `${ON_NODE["the node's password"]}\n`);
  disk.put("/etc/rancher/k3s/config.yaml", 'token: "token-in-the-config-yaml"\nnode-name: x\n');
  disk.put(
    "/etc/rancher/k3s/registries.yaml",
    'configs:\n  "docker.io":\n    auth:\n      username: "ada"\n' +
      `      password: "${ON_NODE["a registry's password"]}"\n` +
      `      identity_token: "${ON_NODE["a registry's token"]}"\n`,
  );
  disk.put("/etc/pbx-agent/config.yaml", "enrollment_token: enrollment-token-in-clear\n");
  disk.put("/etc/rancher/k3s/k3s.yaml", `users:\n- user:\n    client-key-data: ${base64(PEM)}\n`);

  const identity = JSON.parse(disk.text("/var/lib/pbx-agent/identity.json") ?? "");
  const bootstrap = JSON.parse(disk.text("/var/lib/pbx-agent/bootstrap.json") ?? "");
  const secrets = new Map(Object.entries(ON_NODE));
  secrets.set("the agent's signing key", identity.keys.signing);
  secrets.set("the agent's sealing key", identity.keys.sealing);
  secrets.set("a stored box", bootstrap.answer.k3s.token.sealed);

  const lines: string[] = [];
  for (const [name, secret] of [...secrets]) {
    const inBase64 = base64(secret);
    const inMore = base64(`x: ${secret}\n`);
    lines.push(
      `bare ${secret} here`,
      `in quotes "${secret}"`,
      `in base64 ${inBase64}`,
      `inside of base64 ${inMore}`,
      `in a query ?q=${encodeURIComponent(secret)}&n=1`,
    );
    secrets.set(`${name}, in base64`, inBase64);
    secrets.set(`${name}, inside of base64`, inMore);
  }
  for (const [name, [line, secret]] of Object.entries(BY_PATTERN)) {
    lines.push(line);
    secrets.set(name, secret);
  }
  for (const [n, line] of PEM_BODY.entries()) secrets.set(`line ${n} of a key`, line);
  // A key in the middle, one whose beginning is cut off, one in a line, one whose end never came.
  const withPrefix = (text: string) => text.split("\n").map((line) => `host k3s[1]: ${line}`);
  const whole = [
    ...withPrefix(PEM_BODY.slice(2).join("\n")),
    "host k3s[1]: -----END EC PRIVATE KEY-----",
    "a line that may stay",
    ...lines,
    ...withPrefix(PEM),
    `in one line ${PEM.replaceAll("\n", "\\n")}`,
    "another line that may stay",
    ...withPrefix(PEM.split("\n").slice(0, 3).join("\n")),
  ];
  for (const unit of UNITS) systemd.logs.set(unit, whole);
  disk.put("/etc/os-release", `PRETTY_NAME="Linux ${SERVER_TOKEN} password=hunter2-hunter2"\n`);
  host.set({ kernel: `6.12 ${ON_NODE["the agent token"]}` });
  return secrets;
}

for (const recipient of [false, true]) {
  Deno.test(`diag.collect: of every secret planted in every source none comes out, ${recipient ? "sealed" : "open"}`, async () => {
    const machine = createMachine();
    const secrets = plant(machine);
    const secretKey = new Secret(new Uint8Array(32).fill(3));
    const key = { secretKey, publicKey: sealingPublicKey(secretKey) };
    const params = recipient
      ? { recipient: encodeBase64(key.publicKey), lines: 1_000 }
      : { lines: 1_000 };
    const journal = await collect(machine, params);
    const told = JSON.stringify(eventsRequest(journal));
    let text: string;
    if (recipient) {
      assert.equal(journal.result?.output?.["bundle"], undefined);
      text = unpack(openBytes(String(journal.result?.output?.["sealed_bundle"]), key));
    } else text = JSON.stringify(bundleOf(journal));

    const { operation, finished } = JSON.parse(
      machine.disk.text("/var/lib/pbx-agent/state.json") ?? "",
    );
    const everywhere = {
      bundle: text,
      events: told,
      state: JSON.stringify([operation, finished]),
      log: logOf(machine),
      "the agent's log": machine.log.text(),
    };
    for (const [where, content] of Object.entries(everywhere)) {
      for (const [name, secret] of secrets) {
        assert.ok(!content.includes(secret), `${name} is in ${where}`);
      }
    }
    assert.match(text, /a line that may stay/);
    assert.match(text, /another line that may stay/);
  });
}

function unpack(bytes: Uint8Array): string {
  return new TextDecoder().decode(gunzipSync(bytes));
}

/** Opens a sealed box of bytes, which are no text. */
function openBytes(box: string, key: SealingKey): Uint8Array {
  return sealedBox.open(
    decodeBase64(box) ?? new Uint8Array(),
    key.publicKey,
    key.secretKey.reveal(),
  ) ??
    assert.fail("it does not open with the recipient's key");
}

Deno.test("diag.collect: the agent's own keys do not open what was sealed to a recipient", async () => {
  const machine = createMachine();
  const secretKey = new Secret(new Uint8Array(32).fill(3));
  const recipient = encodeBase64(sealingPublicKey(secretKey));
  const { result } = await collect(machine, { recipient });
  const { sealing } = JSON.parse(machine.disk.text("/var/lib/pbx-agent/identity.json") ?? "").keys;
  const own = new Secret(decodeBase64(sealing) ?? new Uint8Array());
  const opened = openSealed(String(result?.output?.["sealed_bundle"]), [
    { secretKey: own, publicKey: sealingPublicKey(own) },
  ]);
  assert.ok(!opened.ok);
  assert.match(opened.error.message, /none of this agent's keys/);
});

for (const recipient of [undefined, encodeBase64(new Uint8Array(32).fill(9))]) {
  Deno.test(`diag.collect: logs that do not compress fit a body, ${recipient === undefined ? "open" : "sealed"}`, async () => {
    const machine = createMachine();
    const random = createFakeRandom(3);
    for (const unit of UNITS) {
      // Of capitals and digits, so that no line looks like a key.
      const line = () =>
        Array.from(random.bytes(2_000), (byte) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ012345"[byte % 32])
          .join("");
      machine.systemd.logs.set(unit, Array.from({ length: 1_000 }, line));
    }
    const journal = await collect(machine, {
      lines: 1_000,
      ...(recipient === undefined ? {} : { recipient }),
    });
    const body = JSON.stringify(eventsRequest(journal));
    assert.ok(body.length < 262_144, `${body.length} bytes`);
    assert.ok(body.length > 60_000, "the room is used");
    if (recipient !== undefined) return;
    const bundle = bundleOf(journal);
    for (const unit of UNITS) {
      const { left_out, lines } = bundle.logs[unit];
      assert.equal(left_out + lines.length, 1_000);
      assert.ok(lines.length > 5);
      assert.deepEqual(lines.at(-1), machine.systemd.logs.get(unit)?.at(-1), "the newest stay");
    }
  });
}

Deno.test("diag.collect: killed at every call, it ends with a bundle", async () => {
  await cutMatrix({
    setUp: createMachine,
    offer: () => ({ id: "op-1", kind: "diag.collect", params: { consent: CONSENT } }),
    apiUp: false,
    assertEnd: (_machine, { journal }) => void bundleOf(journal),
  });
});

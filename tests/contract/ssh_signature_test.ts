import assert from "node:assert/strict";
import { sha256, sha512 } from "@noble/hashes/sha2.js";
import { concatBytes } from "@noble/hashes/utils.js";
import {
  type ApprovalSubject,
  approvalText,
  judgeApprovals,
} from "../../core/protocol/approval.ts";
import {
  isSshSignatureOf,
  parseSshPublicKey,
  readSshSignature,
} from "../../core/protocol/sshsig.ts";
import { sign, signingPublicKey } from "../../core/protocol/signing.ts";
import { Secret } from "../../core/secret.ts";

/** OpenSSH itself is the witness; where it is not installed these tests are left out. */
const SSH_KEYGEN = "/usr/bin/ssh-keygen";
const ignore = !exists(SSH_KEYGEN);

function exists(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}

async function keygen(args: readonly string[], input = ""): Promise<{ code: number; out: string }> {
  const child = new Deno.Command(SSH_KEYGEN, {
    args: [...args],
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(input));
  await writer.close();
  const { code, stdout, stderr } = await child.output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, out: text(stdout) + text(stderr) };
}

/** A fresh key of OpenSSH in a folder of its own. */
async function withKey(test: (key: Key) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    const file = `${folder}/id`;
    const made = await keygen([
      "-q",
      "-t",
      "ed25519",
      "-N",
      "",
      "-C",
      "ada@example.com",
      "-f",
      file,
    ]);
    assert.equal(made.code, 0, made.out);
    await test({ folder, file, line: await Deno.readTextFile(`${file}.pub`) });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

interface Key {
  readonly folder: string;
  readonly file: string;
  readonly line: string;
}

async function signed(
  { folder, file }: Key,
  text: string,
  namespace = "pbx-approval",
  hash = "sha512",
) {
  const path = `${folder}/approval.txt`;
  await Deno.writeTextFile(path, text);
  const args = ["-Y", "sign", "-q", "-n", namespace, "-O", `hashalg=${hash}`, "-f", file, path];
  const made = await keygen(args);
  assert.equal(made.code, 0, made.out);
  const signature = await Deno.readTextFile(`${path}.sig`);
  await Deno.remove(`${path}.sig`);
  return signature;
}

const SUBJECT: ApprovalSubject = {
  kind: "operation",
  operation: "cluster.restore",
  id: "op-7",
  params: { snapshot: "pbx-1", from: "local", token: { sealed: "AAAA" } },
};
const NOW = Date.parse("2026-06-01T12:00:00Z");
const EXPIRES = "2026-06-02T12:00:00Z";

function rulesOf(line: string, change: Partial<Parameters<typeof judgeApprovals>[2]> = {}) {
  const key = parseSshPublicKey(line);
  assert.ok(key.ok, key.ok ? "" : key.error);
  const rules = {
    cluster: "demo",
    node: "node-1",
    keys: [key.value],
    needed: 1,
    latest: NOW,
    now: NOW,
  };
  return { ...rules, ...change };
}

const TEXT = approvalText({ cluster: "demo", node: "node-1", subject: SUBJECT, expires: EXPIRES });

Deno.test("approvalText: is what one would want to read at three in the morning", () => {
  assert.equal(
    TEXT,
    "pbx-approval-v1\ncluster: demo\nnode: node-1\noperation: cluster.restore\nid: op-7\n" +
      'params: {"from":"local","snapshot":"pbx-1","token":{"sealed":true}}\n' +
      "expires: 2026-06-02T12:00:00Z\n",
  );
  const change = {
    kind: "change",
    what: "fewer_snapshots",
    from: null,
    to: { b: 1, a: 2 },
  } as const;
  assert.equal(
    approvalText({ cluster: "demo", node: "node-1", subject: change, expires: EXPIRES }),
    "pbx-approval-v1\ncluster: demo\nnode: node-1\nchange: fewer_snapshots\nfrom: null\n" +
      'to: {"a":2,"b":1}\nexpires: 2026-06-02T12:00:00Z\n',
  );
});

Deno.test({
  name: "ssh signatures: what ssh-keygen signs is taken, with both hashes",
  ignore,
  fn: () =>
    withKey(async (key) => {
      for (const hash of ["sha256", "sha512"]) {
        const signature = await signed(key, TEXT, "pbx-approval", hash);
        const approval = { node: "node-1", expires: EXPIRES, signature };
        const judged = await judgeApprovals(SUBJECT, [approval], rulesOf(key.line));
        assert.ok(judged.ok, judged.ok ? "" : judged.error.message);
        assert.equal(judged.value.keys[0]?.comment, "ada@example.com");
        // As it comes from a mail program.
        const odd = `\r\n  ${signature.replaceAll("\n", "\r\n")}\r\n `;
        assert.ok(
          (await judgeApprovals(SUBJECT, [{ ...approval, signature: odd }], rulesOf(key.line))).ok,
        );
      }
    }),
});

Deno.test({
  name: "ssh signatures: the fingerprint is ssh-keygen's",
  ignore,
  fn: () =>
    withKey(async ({ file, line }) => {
      const key = parseSshPublicKey(line);
      const shown = await keygen(["-l", "-f", `${file}.pub`]);
      assert.ok(key.ok && shown.out.includes(key.value.fingerprint), shown.out);
    }),
});

Deno.test({
  name: "approvals: another key, text, node, time or namespace does not count, and says why",
  ignore,
  fn: () =>
    withKey(async (key) => {
      const signature = await signed(key, TEXT);
      const good = { node: "node-1", expires: EXPIRES, signature };
      const why = async (approval: Partial<typeof good>, change = {}, subject = SUBJECT) => {
        const judged = await judgeApprovals(
          subject,
          [{ ...good, ...approval }],
          rulesOf(key.line, change),
        );
        return judged.ok ? "approved" : `${judged.error.code}: ${judged.error.message}`;
      };
      assert.equal(await why({}), "approved");
      assert.match(await why({}, {}, { ...SUBJECT, id: "op-8" }), /approval_invalid.*another text/);
      const params = { snapshot: "pbx-2", from: "local" };
      assert.match(await why({}, {}, { ...SUBJECT, params }), /another text/);
      assert.match(await why({}, { cluster: "other" }), /another text/);
      assert.match(await why({}, { node: "node-2" }), /is for node "node-1", and this is node-2/);
      assert.match(await why({ node: "*" }), /is for node "\*"/);
      assert.match(await why({ expires: "2026-06-02T13:00:00Z" }), /another text/);
      assert.match(await why({ expires: "2026-06-02 12:00" }), /not a UTC time/);
      assert.match(await why({ expires: "2026-02-30T12:00:00Z" }), /not a UTC time/);
      assert.match(await why({}, { latest: Date.parse(EXPIRES) }), /expired at/);
      assert.match(await why({}, { now: NOW - 8 * 86_400_000 }), /more than 7 days ahead/);
      assert.match(await why({}, { keys: [] }), /is not one of approval_keys/);
      assert.match(await why({}, { needed: 2 }), /approval_missing: .*1 of 2/);
      assert.match(await why({ signature: "x" }), /cannot be read/);
      const elsewhere = await signed(key, TEXT, "git");
      assert.match(await why({ signature: elsewhere }), /namespace "git"/);
      const none = await judgeApprovals(SUBJECT, [], rulesOf(key.line));
      assert.ok(!none.ok && none.error.code === "approval_missing");
      // Twice the same key is one approval; one for a change of the desired state is none.
      const twice = await judgeApprovals(SUBJECT, [good, good], rulesOf(key.line, { needed: 2 }));
      assert.ok(!twice.ok);
      const forChange = await judgeApprovals(
        SUBJECT,
        [{ ...good, what: "s3_target" }],
        rulesOf(key.line),
      );
      assert.ok(!forChange.ok && forChange.error.code === "approval_missing");
      // Access may be approved for any node.
      const access = { kind: "operation", operation: "access.issue", id: "a", params: {} } as const;
      const anywhere = approvalText({
        cluster: "demo",
        node: "*",
        subject: access,
        expires: EXPIRES,
      });
      const any = { node: "*", expires: EXPIRES, signature: await signed(key, anywhere) };
      assert.ok((await judgeApprovals(access, [any], rulesOf(key.line))).ok);
    }),
});

const UTF8 = new TextEncoder();

function packed(bytes: Uint8Array | string): Uint8Array {
  const content = typeof bytes === "string" ? UTF8.encode(bytes) : bytes;
  const length = new Uint8Array(4);
  new DataView(length.buffer).setUint32(0, content.length);
  return concatBytes(length, content);
}

/** A security key in software: what a FIDO token would sign, by PROTOCOL.u2f. */
function securityKey(flags: number) {
  const seed = new Secret(new Uint8Array(32).fill(9));
  const type = "sk-ssh-ed25519@openssh.com";
  const blob = concatBytes(packed(type), packed(signingPublicKey(seed)), packed("ssh:"));
  const line = `${type} ${blob.toBase64()} grace@example.com`;
  return {
    line,
    sign(text: string): string {
      const digest = sha512(UTF8.encode(text));
      const inner = concatBytes(
        UTF8.encode("SSHSIG"),
        packed("pbx-approval"),
        packed(""),
        packed("sha512"),
        packed(digest),
      );
      const touch = new Uint8Array([flags, 0, 0, 0, 42]);
      const message = concatBytes(sha256(UTF8.encode("ssh:")), touch, sha256(inner));
      const signature = concatBytes(packed(type), packed(sign(seed, message)), touch);
      const whole = concatBytes(
        UTF8.encode("SSHSIG"),
        new Uint8Array([0, 0, 0, 1]),
        packed(blob),
        packed("pbx-approval"),
        packed(""),
        packed("sha512"),
        packed(signature),
      );
      const body = whole.toBase64().replace(/.{70}/g, "$&\n");
      return `-----BEGIN SSH SIGNATURE-----\n${body}\n-----END SSH SIGNATURE-----\n`;
    },
  };
}

Deno.test("ssh signatures: a security key counts when it was touched", async () => {
  for (
    const [flags, isTaken] of [[0x01, true], [0x05, true], [0x00, false], [0x04, false]] as const
  ) {
    const key = securityKey(flags);
    const approval = { node: "node-1", expires: EXPIRES, signature: key.sign(TEXT) };
    const judged = await judgeApprovals(SUBJECT, [approval], rulesOf(key.line));
    assert.equal(judged.ok, isTaken, `${flags}`);
    if (!judged.ok) assert.match(judged.error.message, /grace@example\.com did not touch/);
  }
});

Deno.test({
  name: "ssh signatures: OpenSSH takes the security key's signature that we take",
  ignore,
  async fn() {
    const folder = await Deno.makeTempDir();
    try {
      const key = securityKey(0x01);
      const signers = `${folder}/signers`;
      await Deno.writeTextFile(signers, `grace ${key.line}\n`);
      await Deno.writeTextFile(`${folder}/sig`, key.sign(TEXT));
      const args = [
        "-Y",
        "verify",
        "-f",
        signers,
        "-I",
        "grace",
        "-n",
        "pbx-approval",
        "-s",
        `${folder}/sig`,
      ];
      const verified = await keygen(args, TEXT);
      assert.equal(verified.code, 0, verified.out);
      const read = readSshSignature(key.sign(TEXT));
      assert.ok(read.ok && await isSshSignatureOf(read.value, UTF8.encode(TEXT)));
      assert.notEqual((await keygen(args, `${TEXT}x`)).code, 0);
      assert.equal(await isSshSignatureOf(read.value, UTF8.encode(`${TEXT}x`)), false);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});

Deno.test("ssh keys: options, certificates, other types and broken lines are refused", () => {
  const { line } = securityKey(1);
  const [type, base64] = line.split(" ");
  assert.ok(parseSshPublicKey(`${type} ${base64}`).ok);
  for (
    const bad of [
      "",
      `restrict ${line}`,
      `cert-authority ${line}`,
      `ssh-rsa ${base64}`,
      `ssh-ed25519 ${base64}`,
      `ssh-ed25519-cert-v01@openssh.com ${base64}`,
      `${type} ${base64?.slice(4)}`,
      `${type} ${base64}AAAA`,
      `${type} !!!!`,
      `${type}`,
    ]
  ) assert.equal(parseSshPublicKey(bad).ok, false, bad);
});

Deno.test("ssh signatures: whatever is cut out of or put into a signature, nothing throws and nothing counts", async () => {
  const whole = securityKey(1).sign(TEXT);
  const bytes = Uint8Array.fromBase64(whole.split("\n").slice(1, -2).join(""));
  for (let at = 0; at < bytes.length; at++) {
    const changed = bytes.slice();
    changed[at] = (changed[at] ?? 0) ^ 0x20;
    for (
      const variant of [changed, bytes.slice(0, at), concatBytes(bytes, bytes.slice(0, at + 1))]
    ) {
      const block =
        `-----BEGIN SSH SIGNATURE-----\n${variant.toBase64()}\n-----END SSH SIGNATURE-----`;
      const read = readSshSignature(block);
      assert.ok(!read.ok || !await isSshSignatureOf(read.value, UTF8.encode(TEXT)), `${at}`);
    }
  }
  assert.equal(readSshSignature(whole + whole).ok, false);
  assert.equal(readSshSignature(" ".repeat(5_000) + whole).ok, false);
});

import assert from "node:assert/strict";
import { isJsonObject, type JsonValue } from "../../../core/json.ts";
import { boundText, boxId, type KnownBoxes } from "../../../core/protocol/bound_box.ts";
import {
  bindBoxes,
  openInPlace,
  scanEnrollAnswer,
  scanSyncAnswer,
  type SealedAt,
} from "../../../core/protocol/secret_positions.ts";
import { openSealed } from "../../../core/protocol/sealing.ts";
import { AGENT, sealed } from "../../../fixtures/source/material.ts";

const KEYS = [AGENT.sealing];
const FREE = { isBoundRequired: false, known: {} };
const STRICT = { isBoundRequired: true, known: {} };

/** Every position there is, with a document that has `box` there and nothing else. */
const POSITIONS: Readonly<Record<string, (box: JsonValue) => readonly SealedAt[]>> = {
  "enroll:k3s.token": (box) => inEnroll({ k3s: { token: box } }),
  "enroll:k3s.agent_token": (box) => inEnroll({ k3s: { agent_token: box } }),
  "enroll:secrets.hcloud.token": (box) => inEnroll({ secrets: { hcloud: { token: box } } }),
  "enroll:secrets.etcd_s3.access_key": (box) =>
    inEnroll({ secrets: { etcd_s3: { access_key: box } } }),
  "enroll:secrets.etcd_s3.secret_key": (box) =>
    inEnroll({ secrets: { etcd_s3: { secret_key: box } } }),
  "desired:secrets.hcloud.token": (box) =>
    inSync({ desired: { secrets: { hcloud: { token: box } } } }),
  "desired:secrets.etcd_s3.access_key": (box) =>
    inSync({ desired: { secrets: { etcd_s3: { access_key: box } } } }),
  "desired:secrets.etcd_s3.secret_key": (box) =>
    inSync({ desired: { secrets: { etcd_s3: { secret_key: box } } } }),
  "desired:addons.dns.secret_options.token": (box) => inAddon("dns", "token", box),
  "desired:addons.dns.secret_options.other": (box) => inAddon("dns", "other", box),
  "desired:addons.mail.secret_options.token": (box) => inAddon("mail", "token", box),
  "desired:host.registries.docker.io.password": (box) => inRegistry("docker.io", "password", box),
  "desired:host.registries.docker.io.identity_token": (box) =>
    inRegistry("docker.io", "identity_token", box),
  "desired:host.registries.registry.example.com:5000.password": (box) =>
    inRegistry("registry.example.com:5000", "password", box),
  "operation:op-1:params.access_key": (box) => inOperation("op-1", "access_key", box),
  "operation:op-1:params.secret_key": (box) => inOperation("op-1", "secret_key", box),
  "operation:op-1:params.token": (box) => inOperation("op-1", "token", box),
  "operation:op-2:params.token": (box) => inOperation("op-2", "token", box),
};

function inEnroll(body: JsonValue): readonly SealedAt[] {
  return found(scanEnrollAnswer(body));
}

function inSync(body: JsonValue): readonly SealedAt[] {
  return found(scanSyncAnswer(body));
}

function inAddon(name: string, option: string, box: JsonValue): readonly SealedAt[] {
  const others = [{ name: "first", enabled: true, options: {} }];
  const addon = { name, enabled: true, options: {}, secret_options: { [option]: box } };
  return inSync({ desired: { addons: [...others, addon] } });
}

function inRegistry(host: string, member: string, box: JsonValue): readonly SealedAt[] {
  const others = { "ghcr.io": { username: "ada" } };
  const configs = { ...others, [host]: { username: "ada", [member]: box } };
  return inSync({ desired: { host: { registries: { configs } } } });
}

function inOperation(id: string, name: string, box: JsonValue): readonly SealedAt[] {
  return inSync({ operation: { id, kind: "s3.verify", params: { [name]: box } } });
}

function found(scanned: ReturnType<typeof scanSyncAnswer>): readonly SealedAt[] {
  assert.ok(scanned.ok);
  return scanned.value;
}

/** Positions that are one, for a bound box. */
const isSame = (a: string, b: string) =>
  a.replace(/^(enroll|desired):/, "") === b.replace(/^(enroll|desired):/, "");

Deno.test("bound boxes: a box is good at its own position and at no other, for every pair", () => {
  let refused = 0;
  for (const [own] of Object.entries(POSITIONS)) {
    const box = sealed(own, boundText(own, "the-secret"));
    for (const [position, place] of Object.entries(POSITIONS)) {
      const [only] = place(box);
      assert.equal(only?.position, position);
      for (const policy of [FREE, STRICT]) {
        const opened = openInPlace(place(box), KEYS, policy);
        assert.equal(opened.ok, isSame(own, position), `${own} at ${position}`);
        if (opened.ok) continue;
        refused++;
        assert.equal(opened.error.code, "misplaced_secret");
        assert.match(
          opened.error.message,
          new RegExp(`is bound to "${own.replaceAll(".", "\\.")}"`),
        );
        assert.doesNotMatch(opened.error.message, /the-secret/);
      }
    }
  }
  assert.ok(refused > 300, `${refused}`);
});

Deno.test("unbound boxes: one that is stored is good where it came first, for every pair", () => {
  const group = (position: string) =>
    position.replace(/^(enroll|desired):/, "").replace(/^operation:[^:]*:/, "operation:")
      .replace(/^(?:operation:params|secrets\.etcd_s3)\.(?:access|secret)_key$/, "s3");
  for (const [own] of Object.entries(POSITIONS)) {
    const box = sealed(own, "the-secret");
    const known: KnownBoxes = { [boxId(box.sealed)]: own };
    for (const [position, place] of Object.entries(POSITIONS)) {
      const opened = openInPlace(place(box), KEYS, { isBoundRequired: false, known });
      assert.equal(opened.ok, group(own) === group(position), `${own} at ${position}`);
      // The first time nobody can tell; where bound boxes are a must, it is refused.
      assert.deepEqual(openInPlace(place(box), KEYS, FREE), {
        ok: true,
        value: { [boxId(box.sealed)]: position },
      });
      assert.ok(!openInPlace(place(box), KEYS, STRICT).ok);
    }
  }
});

Deno.test("unbound boxes: one box at two positions of a document is refused", () => {
  const box = sealed("twice", "the-secret");
  const body = {
    desired: { secrets: { hcloud: { token: box } } },
    operation: { id: "op-1", params: { access_key: box } },
  };
  const opened = openInPlace(inSync(body), KEYS, FREE);
  assert.ok(!opened.ok && opened.error.code === "misplaced_secret");
  const pair = { operation: { id: "op-1", params: { access_key: box, secret_key: box } } };
  assert.ok(
    openInPlace(inSync(pair), KEYS, FREE).ok,
    "of two S3 keys nobody can tell which is which",
  );
});

Deno.test("bound boxes: the header ends at the first line feed, and the secret may have more", () => {
  const position = "operation:op-1:params.token";
  const at = (text: string) => inOperation("op-1", "token", sealed(text, text));
  const opened = (text: string) => openSealed(sealed(text, text).sealed, KEYS);
  for (const secret of ["", "a\nb\n", "pbx-seal-1 x\n"]) {
    const text = boundText(position, secret);
    assert.ok(openInPlace(at(text), KEYS, STRICT).ok);
    const result = opened(text);
    assert.equal(result.ok && result.value.reveal(), secret);
  }
  for (const odd of [`pbx-seal-1 ${position}`, `pbx-seal-1  ${position}\nx`, "pbx-seal-1 \nx"]) {
    const result = openInPlace(at(odd), KEYS, FREE);
    assert.ok(!result.ok && result.error.code === "misplaced_secret", JSON.stringify(odd));
  }
  // Nearly a header is a secret without one.
  assert.ok(openInPlace(at("pbx-seal-2 x\ny"), KEYS, FREE).ok);
});

Deno.test("bindBoxes: binds what is not, at its place, and leaves the rest as it is", () => {
  const bound = sealed("b", boundText("desired:secrets.hcloud.token", "one"));
  const unbound = sealed("u", "two");
  const body: JsonValue = {
    desired: {
      secrets: { hcloud: { token: bound, network: "n" } },
      addons: [{ name: "dns", secret_options: { token: unbound } }],
    },
    operation: null,
  };
  const sealTo = (bytes: Uint8Array) => sealed("again", new TextDecoder().decode(bytes)).sealed;
  const after = bindBoxes(body, inSync(body), KEYS, sealTo);
  assert.ok(openInPlace(inSync(after), KEYS, STRICT).ok);
  assert.deepEqual(isJsonObject(after) && after["operation"], null);
  const [kept, made] = inSync(after);
  assert.equal(kept?.box, bound.sealed);
  const text = openSealed(made?.box ?? "", KEYS);
  assert.equal(text.ok && text.value.reveal(), "two");
  assert.deepEqual(bindBoxes(after, inSync(after), KEYS, sealTo), after);
});

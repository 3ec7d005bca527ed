import assert from "node:assert/strict";
import fc from "fast-check";
import { parse } from "yaml";
import { k3sConfig } from "../../../core/host/k3s_config.ts";
import type { JsonObject } from "../../../core/json.ts";
import { Secret } from "../../../core/secret.ts";

const TOKEN = new Secret("the-token");

Deno.test("k3sConfig: the configuration in its order, every string quoted, then the tokens", () => {
  const config: JsonObject = {
    "cluster-init": true,
    "write-kubeconfig-mode": "0600",
    "tls-san": ["10.0.0.2", "api.example.com"],
    "kubelet-arg": [],
    "etcd-snapshot-retention": 5,
    "node-name": "on",
  };
  assert.equal(
    k3sConfig(config, TOKEN, new Secret("another: #token")).reveal(),
    [
      "cluster-init: true",
      'write-kubeconfig-mode: "0600"',
      "tls-san:",
      '  - "10.0.0.2"',
      '  - "api.example.com"',
      "kubelet-arg: []",
      "etcd-snapshot-retention: 5",
      'node-name: "on"',
      'token: "the-token"',
      'agent-token: "another: #token"',
      "",
    ].join("\n"),
  );
});

Deno.test("k3sConfig: without an agent token there is no such key", () => {
  assert.deepEqual(parse(k3sConfig({}, TOKEN).reveal()), { token: "the-token" });
});

Deno.test("k3sConfig: what YAML 1.1 takes for a line break is escaped", () => {
  const content = k3sConfig({ "a\u2028b": "\x85\u2029" }, TOKEN).reveal();
  assert.equal(content.split("\n")[0], String.raw`"a\u2028b": "\u0085\u2029"`);
  assert.deepEqual(parse(content), { "a\u2028b": "\x85\u2029", token: "the-token" });
});

Deno.test("k3sConfig: a value stays on one line, however long it is", () => {
  const config = {
    "etcd-s3-endpoint-ca": "a line of it\n".repeat(30),
    "node-label": ["x y ".repeat(60)],
  };
  assert.equal(k3sConfig(config, TOKEN).reveal().trimEnd().split("\n").length, 4);
});

Deno.test("k3sConfig: the result prints as a secret", () => {
  const content = k3sConfig({ "cluster-init": true }, TOKEN);
  assert.ok(!`${content}${JSON.stringify({ content })}`.includes("token"));
});

Deno.test("k3sConfig: a configuration that brings a token is an error, which does not show it", () => {
  for (const key of ["token", "agent-token", "token+", "agent-token+"]) {
    assert.throws(() => k3sConfig({ [key]: "in-clear" }, TOKEN), (error: Error) => {
      assert.ok(error.message.includes(key));
      assert.ok(!error.message.includes("in-clear"));
      return true;
    });
  }
  assert.ok(k3sConfig({ "token-file": "/etc/token" }, TOKEN));
});

/** Texts that some reader of YAML takes for something else when they stand unquoted. */
const TEMPTING = fc.constantFrom(
  ..."0600 0o17 0x1F 1_000 1e3 .inf .nan 12:30:45 2026-03-29 yes No on OFF y N ~ null True = << - ? ! & * | > % @ ` # : [] {}"
    .split(" "),
  "",
  " a ",
  "a: b",
  "a #b",
  "a\nb\n",
  "a\u2028b\x85c\ufeff",
  "\ttab",
  "---",
  "...",
  "line ".repeat(50),
);

const text = fc.oneof(TEMPTING, fc.string({ unit: "grapheme" }), fc.string());

/** Keys but for `<<`, which readers of YAML 1.1 take for a merge however it is quoted; no flag is named so. */
const key = text.filter((text) => text !== "<<" && text !== "__proto__");

const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    text,
    fc.boolean(),
    fc.constant(null),
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => n === 0 ? 0 : n),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(key, tie("value"), { maxKeys: 4, noNullPrototype: true }),
  ),
}));

Deno.test("k3sConfig: readers of YAML 1.1 and 1.2 get exactly what was put in", () => {
  const flag = fc.oneof(fc.constantFrom("cluster-init", "tls-san+", "node-label"), key)
    .filter((name) => !/^(agent-)?token\+?$/.test(name));
  fc.assert(
    fc.property(
      fc.dictionary(flag, value, { maxKeys: 6, noNullPrototype: true }),
      text,
      fc.option(text, { nil: undefined }),
      (config, token, agentToken) => {
        const content = k3sConfig(
          config as JsonObject,
          new Secret(token),
          agentToken === undefined ? undefined : new Secret(agentToken),
        ).reveal();
        const expected = {
          ...config,
          token,
          ...(agentToken === undefined ? {} : { "agent-token": agentToken }),
        };
        for (const version of ["1.1", "1.2"] as const) {
          assert.deepEqual(parse(content, { version }), expected);
        }
      },
    ),
    { seed: 20260330, numRuns: 500 },
  );
});

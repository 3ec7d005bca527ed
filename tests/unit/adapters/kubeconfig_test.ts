import assert from "node:assert/strict";
import { stringify } from "yaml";
import { parseKubeconfig } from "../../../adapters/node/kubeconfig.ts";

const CERT = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n";
const KEY = "-----BEGIN EC PRIVATE KEY-----\nAA==\n-----END EC PRIVATE KEY-----\n";
const CLUSTER = { "server": "https://127.0.0.1:6443", "certificate-authority-data": btoa(CERT) };
const USER = { "client-certificate-data": btoa(CERT), "client-key-data": btoa(KEY) };

function kubeconfig(cluster: object = CLUSTER, user: object = USER, more: object = {}): string {
  return stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "default", cluster }],
    users: [{ name: "default", user }],
    contexts: [{ name: "default", context: { cluster: "default", user: "default" } }],
    "current-context": "default",
    preferences: {},
    ...more,
  });
}

function errorOf(text: string): string {
  const result = parseKubeconfig(text);
  assert.ok(!result.ok, "it must be refused");
  return result.error;
}

Deno.test("parseKubeconfig: the kind that k3s writes", () => {
  const result = parseKubeconfig(kubeconfig());
  assert.ok(result.ok, JSON.stringify(result));
  const { server, authority, clientCertificate, token } = result.value;
  assert.deepEqual([server, authority, token], ["https://127.0.0.1:6443", CERT, undefined]);
  assert.equal(clientCertificate?.cert, CERT);
  assert.equal(clientCertificate.key.reveal(), KEY);
  assert.doesNotMatch(JSON.stringify(result), /PRIVATE/);
});

Deno.test("parseKubeconfig: a token, plain http on loopback, a path", () => {
  const server = "http://localhost:8080/prefix/";
  const result = parseKubeconfig(kubeconfig({ server }, { token: "abc" }));
  assert.ok(result.ok, JSON.stringify(result));
  assert.equal(result.value.server, "http://localhost:8080/prefix");
  assert.equal(result.value.token?.reveal(), "abc");
});

Deno.test("parseKubeconfig: the current context decides among several", () => {
  const entry = (name: string, server: string) => ({ name, cluster: { ...CLUSTER, server } });
  const result = parseKubeconfig(kubeconfig(CLUSTER, USER, {
    clusters: [entry("a", "https://a.example.org"), entry("b", "https://b.example.org")],
    contexts: [{ name: "two", context: { cluster: "b", user: "default" } }],
    "current-context": "two",
  }));
  assert.equal(result.ok && result.value.server, "https://b.example.org");
});

Deno.test("parseKubeconfig: what would weaken or redirect the connection is refused by name", () => {
  const cluster = (more: object) => errorOf(kubeconfig({ ...CLUSTER, ...more }));
  assert.match(cluster({ "insecure-skip-tls-verify": true }), /insecure-skip-tls-verify/);
  assert.match(cluster({ "proxy-url": "http://127.0.0.1:1" }), /proxy-url/);
  assert.match(cluster({ "tls-server-name": "x" }), /tls-server-name/);
  assert.match(cluster({ "certificate-authority": "/ca.crt" }), /certificate-authority/);
  const user = (more: object) => errorOf(kubeconfig(CLUSTER, { ...USER, ...more }));
  assert.match(user({ exec: { command: "sh" } }), /exec/);
  assert.match(user({ tokenFile: "/token" }), /tokenFile/);
  assert.match(user({ as: "somebody" }), /as/);
  assert.ok(parseKubeconfig(kubeconfig({ ...CLUSTER, "insecure-skip-tls-verify": false })).ok);
});

Deno.test("parseKubeconfig: http elsewhere, another scheme or credentials in the URL are refused", () => {
  const server = (server: string) => errorOf(kubeconfig({ ...CLUSTER, server }));
  assert.match(server("http://10.0.0.1:6443"), /neither https nor http on loopback/);
  assert.match(server("http://127.0.0.1.example.org"), /neither https nor http on loopback/);
  assert.match(server("file:///etc/passwd"), /neither https nor http on loopback/);
  assert.match(server("https://user:pass@127.0.0.1"), /more than a host/);
  assert.match(server("https://127.0.0.1/?a=b"), /more than a host/);
  assert.match(server("nonsense"), /no server URL/);
});

Deno.test("parseKubeconfig: https needs an authority; certificate and key come together", () => {
  const { server } = CLUSTER;
  assert.match(errorOf(kubeconfig({ server })), /no certificate-authority-data/);
  assert.match(
    errorOf(kubeconfig(CLUSTER, { "client-certificate-data": btoa(CERT) })),
    /only one of/,
  );
  const garbage = { ...USER, "client-key-data": "%%%" };
  assert.match(errorOf(kubeconfig(CLUSTER, garbage)), /client-key-data that is no base64 of PEM/);
  assert.match(errorOf(kubeconfig(CLUSTER, { token: "a\r\nb: c" })), /a token that is none/);
});

Deno.test("parseKubeconfig: garbage is refused and never quoted", () => {
  const key = "c2VjcmV0LWtleQ==";
  const texts = [
    "",
    "null",
    "[]",
    `"${key}"`,
    `{ client-key-data: ${key}`,
    `client-key-data: ${key}\n\tbad: tab`,
    `current-context: ${key}`,
    kubeconfig({}, { "client-key-data": key }),
    kubeconfig(CLUSTER, { ...USER, "client-key-data": key }),
    "a: &a [*a, *a]\nb: [*a, *a]",
    "\u0000\uffff",
  ];
  for (const text of texts) assert.doesNotMatch(errorOf(text), new RegExp(key), text);
});

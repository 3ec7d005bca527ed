import assert from "node:assert/strict";
import type { JsonValue } from "../../../core/json.ts";
import { judgeK3sConfig, type K3sPolicyFacts } from "../../../core/protocol/k3s_policy.ts";

const FACTS: K3sPolicyFacts = { nodeName: "node-1", join: null, isJoinPinned: false, signed: {} };

function fault(key: string, value: JsonValue, facts: Partial<K3sPolicyFacts> = {}): string | null {
  return judgeK3sConfig({ [key]: value }, { ...FACTS, ...facts })?.message ?? null;
}

const GOOD: readonly (readonly [string, JsonValue])[] = [
  ["cluster-init", true],
  ["disable-cloud-controller", false],
  ["disable-kube-proxy", true],
  ["disable-network-policy", true],
  ["etcd-expose-metrics", true],
  ["embedded-registry", true],
  ["protect-kernel-defaults", true],
  ["selinux", true],
  ["secrets-encryption", true],
  ["server", "https://10.0.0.2:6443"],
  ["server", "https://k3s.example.com:6443"],
  ["server", "https://[fd00::2]:6443"],
  ["tls-san", "k3s.example.com"],
  ["tls-san", ["k3s.example.com", "203.0.113.5", "2001:db8::1", "*.example.com"]],
  ["tls-san", "a.example.com,b.example.com"],
  ["node-label", ["topology.kubernetes.io/zone=fsn1", "tier=", "a=b"]],
  ["node-taint", ["node-role.kubernetes.io/control-plane=true:NoSchedule", "a:NoExecute"]],
  ["node-ip", "10.0.0.1,fd00::1"],
  ["node-external-ip", ["203.0.113.5"]],
  ["advertise-address", "10.0.0.1"],
  ["bind-address", "0.0.0.0"],
  ["cluster-cidr", "10.42.0.0/16,fd42::/56"],
  ["service-cidr", ["10.43.0.0/16"]],
  ["cluster-dns", "10.43.0.10"],
  ["cluster-domain", "cluster.local"],
  ["node-name", "node-1"],
  ["https-listen-port", 6443],
  ["flannel-backend", "wireguard-native"],
  ["flannel-iface", "enp7s0"],
  ["egress-selector-mode", "pod"],
  ["disable", ["servicelb", "local-storage", "traefik"]],
  ["disable", "traefik,metrics-server"],
  ["write-kubeconfig-mode", "0600"],
  ["etcd-snapshot-schedule-cron", "0 */6 * * *"],
  ["etcd-snapshot-retention", 28],
  ["etcd-snapshot-compress", true],
  ["etcd-snapshot-name", "pbx-auto"],
  ["kubelet-arg", ["cloud-provider=external", "max-pods=250", "node-status-update-frequency=10s"]],
  ["kubelet-arg", "max-pods=110"],
];

Deno.test("judgeK3sConfig: what a portal needs is allowed, alone and together", () => {
  for (const [key, value] of GOOD) assert.equal(fault(key, value), null, `${key}`);
  assert.equal(judgeK3sConfig(Object.fromEntries(GOOD), FACTS), null);
});

const BAD: readonly (readonly [string, JsonValue])[] = [
  // What runs a program, reads a file or opens the API to everybody.
  ["kube-apiserver-arg", ["anonymous-auth=true"]],
  ["kube-apiserver-arg", ["authorization-mode=AlwaysAllow"]],
  ["kube-controller-manager-arg", "x=y"],
  ["kube-scheduler-arg", "x=y"],
  ["etcd-arg", "x=y"],
  ["kubelet-arg+", ["max-pods=100"]],
  ["kubelet-arg", ["image-credential-provider-bin-dir=/tmp"]],
  ["kubelet-arg", ["max-pods=100", "root-dir=/"]],
  ["kubelet-arg", ["max-pods=100,root-dir=/"]],
  ["kubelet-arg", ["max-pods=0"]],
  ["kubelet-arg", ["max-pods=1001"]],
  ["kubelet-arg", ["max-pods=1e2"]],
  ["kubelet-arg", ["cloud-provider=internal"]],
  ["kubelet-arg", ["node-status-update-frequency=61s"]],
  ["kubelet-arg", ["node-status-update-frequency=1m"]],
  ["kubelet-arg", ["--max-pods=100"]],
  ["kubelet-arg", []],
  ["kube-proxy-arg", "x=y"],
  ["data-dir", "/tmp"],
  ["config", "/tmp/x"],
  ["private-registry", "/tmp/x"],
  ["pause-image", "evil.example.com/pause"],
  ["system-default-registry", "evil.example.com"],
  ["airgap-extra-registry", "evil.example.com"],
  ["default-runtime", "crun"],
  ["docker", true],
  ["container-runtime-endpoint", "/run/x.sock"],
  ["write-kubeconfig", "/opt/x"],
  ["write-kubeconfig-mode", "0644"],
  ["write-kubeconfig-mode", 384],
  ["write-kubeconfig-group", "users"],
  ["disable-apiserver", true],
  ["disable-etcd", true],
  ["datastore-cafile", "/x"],
  ["etcd-s3", true],
  ["etcd-s3-endpoint", "evil.example.com"],
  ["etcd-snapshot-dir", "/tmp"],
  ["secrets-encryption", false],
  ["secrets-encryption", "true"],
  ["cluster-reset", true],
  ["cluster-reset-restore-path", "x"],
  ["rootless", true],
  ["debug", true],
  ["constructor", true],
  ["Cluster-Init", true],
  ["cluster_init", true],
  // Right keys, wrong values.
  ["cluster-init", "true"],
  ["cluster-init", 1],
  ["cluster-init", null],
  ["cluster-init", [true]],
  ["server", "http://10.0.0.2:6443"],
  ["server", "10.0.0.2:6443"],
  ["server", "https://user@10.0.0.2:6443"],
  ["server", "https://10.0.0.2:6443/x"],
  ["server", "https://10.0.0.2:6443?x"],
  ["server", ["https://10.0.0.2:6443"]],
  ["server", "https://127.0.0.1:6443"],
  ["server", "https://0x7f.1:6443"],
  ["server", "https://localhost:6443"],
  ["server", "https://[::1]:6443"],
  ["server", "https://[::ffff:127.0.0.1]:6443"],
  ["server", "https://0.0.0.0:6443"],
  ["server", "https://node-1:6443"],
  ["tls-san", "a b"],
  ["tls-san", "a,,b"],
  ["tls-san", ""],
  ["tls-san", [["a"]]],
  ["tls-san", "1.2.3"],
  ["tls-san", `${"a".repeat(64)}.com`],
  ["node-label", "a"],
  ["node-label", "=b"],
  ["node-label", "a=b c"],
  ["node-label", "a/b/c=d"],
  ["node-taint", "a=b"],
  ["node-taint", "a=b:Never"],
  ["node-ip", "10.0.0.256"],
  ["node-ip", "010.0.0.1"],
  ["node-ip", "fe80::1%eth0"],
  ["advertise-address", ["10.0.0.1"]],
  ["cluster-cidr", "10.42.0.0"],
  ["cluster-cidr", "10.42.0.0/33"],
  ["cluster-cidr", "10.42.0.0/016"],
  ["cluster-domain", "*.local"],
  ["node-name", "node-2"],
  ["https-listen-port", "6443"],
  ["https-listen-port", 0],
  ["https-listen-port", 65_536],
  ["https-listen-port", 6443.5],
  ["flannel-backend", "ipsec"],
  ["flannel-backend", "wireguard-native=x"],
  ["flannel-iface", "a b"],
  ["flannel-iface", "-x"],
  ["egress-selector-mode", "none"],
  ["disable", "ccm"],
  ["disable", ["traefik", "../x"]],
  ["etcd-snapshot-schedule-cron", "@every 1s"],
  ["etcd-snapshot-retention", 0],
  ["etcd-snapshot-name", "../x"],
];

Deno.test("judgeK3sConfig: everything else is refused, with key and value", () => {
  for (const [key, value] of BAD) {
    const message = fault(key, value);
    assert.notEqual(message, null, `${key}: ${JSON.stringify(value)}`);
    assert.ok(message?.startsWith(`k3s.config.${key}: ${JSON.stringify(value)} `.slice(0, 60)));
  }
});

Deno.test("judgeK3sConfig: a signed release allows values beyond the list, and only those", () => {
  const signed = {
    "kube-apiserver-arg": [["audit-log-maxage=30"], { a: 1, b: [2] }],
    "debug": [true],
  };
  assert.equal(fault("kube-apiserver-arg", ["audit-log-maxage=30"], { signed }), null);
  assert.equal(fault("kube-apiserver-arg", { b: [2], a: 1 }, { signed }), null);
  assert.equal(fault("debug", true, { signed }), null);
  assert.match(fault("debug", false, { signed }) ?? "", /only a signed release/);
  assert.match(fault("kube-apiserver-arg", ["x=y"], { signed }) ?? "", /only a signed release/);
  assert.match(fault("toString", 1, { signed }) ?? "", /only a signed release/);
});

Deno.test("judgeK3sConfig: with keys in config.yaml only its own join is joined", () => {
  const pinned = { isJoinPinned: true, join: "https://10.0.0.2:6443" };
  assert.equal(fault("server", "https://10.0.0.2:6443", pinned), null);
  assert.equal(fault("server", "https://10.0.0.2:6443/", pinned), null);
  assert.match(
    fault("server", "https://10.0.0.3:6443", pinned) ?? "",
    /join, https:\/\/10\.0\.0\.2/,
  );
  assert.match(
    fault("server", "https://10.0.0.2:6443", { isJoinPinned: true }) ?? "",
    /names no server to join/,
  );
});

Deno.test("judgeK3sConfig: a server that is the node's own address is refused", () => {
  for (const key of ["node-ip", "node-external-ip", "advertise-address"]) {
    const config = { server: "https://10.0.0.7:6443", [key]: "10.0.0.7" };
    assert.equal(judgeK3sConfig(config, FACTS)?.key, "server", key);
  }
  const config = { server: "https://[fd00:0::7]:6443", "node-ip": "10.0.0.1,fd00::7" };
  assert.equal(judgeK3sConfig(config, FACTS)?.key, "server");
});

import assert from "node:assert/strict";
import { NO_TRUST } from "../../../core/state/trust_config.ts";
import { parseConfig } from "../../../core/state/config.ts";

const GOOD = {
  portal: "portal: example.com",
  cluster_id: "cluster_id: demo",
  node_name: "node_name: demo-1",
};

function text(lines: Partial<typeof GOOD> & { more?: string } = {}): string {
  return Object.values({ ...GOOD, ...lines }).filter((line) => line !== "").join("\n") + "\n";
}

Deno.test("parseConfig: every known key, and the names of unknown ones", () => {
  const config = parseConfig(text({
    more: [
      "enrollment_token: ' pbx_token '",
      "ca_file: /etc/pbx-agent/ca.pem",
      "metadata_url: http://127.0.0.1:8080/metadata",
      "colour: blue",
    ].join("\n"),
  }));
  assert.ok(config.ok);
  const { enrollmentToken, ...rest } = config.value;
  assert.deepEqual(rest, {
    portal: "https://agents.example.com/agent/v1",
    clusterId: "demo",
    nodeName: "demo-1",
    caFile: "/etc/pbx-agent/ca.pem",
    metadataUrl: "http://127.0.0.1:8080/metadata",
    trust: NO_TRUST,
    unknown: ["colour"],
  });
  assert.equal(enrollmentToken?.reveal(), "pbx_token");
  assert.equal(String(enrollmentToken), "[secret]");
});

Deno.test("parseConfig: optional keys may be absent or empty", () => {
  for (const more of ["", "enrollment_token:", "enrollment_token: null", "ca_file: ~"]) {
    const config = parseConfig(text({ more }));
    assert.ok(config.ok && config.value.enrollmentToken === undefined, more);
  }
  assert.ok(parseConfig(text().replaceAll("\n", "\r\n")).ok);
  assert.ok(parseConfig(`\ufeff${text()}`).ok);
  assert.ok(parseConfig("{portal: example.com, cluster_id: demo, node_name: demo-1}").ok);
});

Deno.test("parseConfig: each error names the key and what would be right", () => {
  const table: [string, RegExp][] = [
    ["", /no mapping/],
    ["just text", /no mapping/],
    ["- a\n- b", /no mapping/],
    ["a: [", /no valid YAML/],
    ["a: 'b", /no valid YAML/],
    ["a: 1\na: 2", /no valid YAML/],
    ["a: 1\n---\nb: 2", /no valid YAML/],
    [text({ more: "x: *nowhere" }), /alias/],
    [text({ more: "enrollment_token: &t abc\nx: *t" }), /alias/],
    [text({ portal: "" }), /^'portal' is missing$/],
    [text({ portal: "portal:" }), /^'portal' is missing$/],
    [text({ portal: "portal: http://example.com/x" }), /'portal': .*plain http/],
    [text({ portal: "portal: 7" }), /'portal' must be a text/],
    [text({ portal: "portal: '  '" }), /'portal' must be a text that is not empty/],
    [text({ portal: "portal: {a: b}" }), /'portal' must be a text/],
    [text({ cluster_id: "" }), /'cluster_id' is missing/],
    [text({ cluster_id: "cluster_id: Demo" }), /'cluster_id': 'Demo' is no DNS-1123 label/],
    [text({ node_name: "node_name: -x" }), /'node_name': '-x' is no DNS-1123 label/],
    [text({ node_name: "node_name: a.b" }), /'node_name'/],
    [text({ node_name: `node_name: ${"a".repeat(64)}` }), /'node_name'/],
    [text({ more: "enrollment_token: 123" }), /'enrollment_token' must be a text/],
    [text({ more: "enrollment_token: ''" }), /'enrollment_token' must be a text/],
    [text({ more: "ca_file: ca.pem" }), /'ca_file': 'ca.pem' is no absolute path/],
    [text({ more: "ca_file: /etc/../root/x" }), /'ca_file'/],
    [text({ more: "ca_file: /etc/./x" }), /'ca_file'/],
    [text({ more: "ca_file: /etc/" }), /'ca_file'/],
    [text({ more: "metadata_url: http://10.0.0.1/" }), /'metadata_url': .* not on loopback/],
    [text({ more: "metadata_url: ftp://127.0.0.1/" }), /'metadata_url'/],
    [text({ more: "metadata_url: 127.0.0.1" }), /'metadata_url'/],
    ["colour: blue", /'portal' is missing; 'cluster_id' is missing; 'node_name' is missing/],
  ];
  for (const [given, message] of table) {
    const config = parseConfig(given);
    assert.match(config.ok ? "taken" : config.error, message, given);
  }
});

Deno.test("parseConfig: no error shows the token", () => {
  const faults = [
    "portal: x y\nenrollment_token: hunter2hunter2\n",
    "enrollment_token: hunter2hunter2: x\n",
    'enrollment_token: "hunter2hunter2\n',
    "enrollment_token: [hunter2hunter2]\n",
    "enrollment_token: {hunter2hunter2: 1}\n",
  ];
  for (const fault of faults) {
    const config = parseConfig(fault);
    assert.ok(!config.ok && !config.error.includes("hunter2"), fault);
  }
});

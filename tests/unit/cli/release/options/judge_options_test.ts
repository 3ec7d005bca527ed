import assert from "node:assert/strict";
import { firstRelease } from "../../../../../adapters/portal/first_release.ts";
import { isNamedDestination } from "../../../../../cli/release/options/destination.ts";
import { judgeOptions } from "../../../../../cli/release/options/judge_options.ts";
import type { JsonObject, JsonValue } from "../../../../../core/json.ts";
import { AddonTemplate, Release } from "../../../../../core/protocol/release.ts";
import { RELEASES } from "../../../../../fixtures/source/releases.ts";

const KEY = { type: "string", secret: true } as const;

/** The faults of a template whose chart takes option `x` by `values`; `more`: its other options. */
function faults(x: JsonObject, more: JsonObject = {}, spec?: JsonObject): readonly string[] {
  const values = { x: { $eval: "options.x" } };
  const objects = [{
    apiVersion: "helm.cattle.io/v1",
    kind: "HelmChart",
    metadata: { name: "dns" },
    spec: { chart: "dns", ...spec ?? { values } },
  }];
  const template = AddonTemplate.parse({ options: { x, ...more }, objects });
  return judgeOptions({ addons: { dns: template } });
}

const TEXT: JsonObject = { valuesContent: "x: ${options.x}\n" };
const UNUSED: JsonObject = { values: { x: 1 } };

const SIGNED: readonly [string, JsonObject, JsonObject?, JsonObject?][] = [
  ["a number", { type: "number" }],
  ["a truth value", { type: "boolean" }],
  ["a text with a pattern", { type: "string", pattern: "^[a-z]+$" }],
  ["a text with an enum", { type: "string", enum: ["a", "b: c\n"] }],
  ["a text with a length", { type: "string", maxLength: 9 }],
  ["a text that says so", { type: "string", unlimited: true }],
  ["an object that says so", { type: "object", unlimited: true }],
  ["an object with an enum", { type: "object", enum: [{}] }],
  ["a list with limits for its entries", { type: "array", pattern: "^[a-z]+$" }],
  ["a list of numbers", { type: "array", minimum: 0 }],
  ["a text that no chart gets", { type: "string" }, {}, UNUSED],
  ["an object that no chart gets", { type: "object" }, {}, UNUSED],
  ["a text with a pattern in a text", { type: "string", pattern: "^[a-z]+$" }, {}, TEXT],
  ["a name beside a secret", { type: "string", pattern: "^[a-z0-9-]{1,63}$" }, { key: KEY }],
  ["a choice beside a secret", { type: "string", enum: ["https://a.example"] }, { key: KEY }],
  ["a number beside a secret", { type: "number" }, { key: KEY, host_port: { type: "number" } }],
  ["a size beside a secret", { type: "string", pattern: "^[0-9]+(?:\\.[0-9]+)?[MG]i$" }, {
    key: KEY,
  }],
  ["a version beside a secret", { type: "string", pattern: "^v[0-9]+\\.[0-9]+\\.[0-9]+$" }, {
    key: KEY,
  }],
  ["a key beside a secret", { type: "string", pattern: "^[A-Za-z0-9+/]+={0,2}$" }, { key: KEY }],
  ["a mail address beside a secret", {
    type: "string",
    pattern: "^[a-z0-9.+-]+@[a-z0-9.-]+$",
  }, { key: KEY }],
  ["a host that says so, beside a secret", {
    type: "string",
    pattern: "^[a-z.]+$",
    unlimited: true,
  }, { key: KEY }],
  ["a host without a secret", { type: "string", pattern: "^[a-z.]+$" }, {
    api_url: { type: "string", pattern: "^https://.*$" },
  }],
];

for (const [what, ...template] of SIGNED) {
  Deno.test(`judgeOptions: is content with ${what}`, () => {
    assert.deepEqual(faults(...template), []);
  });
}

const REFUSED: readonly [string, RegExp, JsonObject, JsonObject?, JsonObject?][] = [
  ["a text without a limit", /a text without a limit reaches.* "pattern"/, { type: "string" }],
  ["a text without a limit in a text", /a text without a limit/, { type: "string" }, {}, TEXT],
  ["a list without a limit", /a list without a limit/, { type: "array" }],
  ["an object", /an object reaches/, { type: "object" }],
  [
    "a length alone in a text",
    /line break .*"maxLength"/,
    { type: "string", maxLength: 9 },
    {},
    TEXT,
  ],
  ["a text that sets the chart", /without a limit/, { type: "string" }, {}, {
    repo: "${options.x}",
  }],
  ["unlimited: false", /without a limit/, { type: "string", unlimited: false }],
  ["a default of another type", /its default is not of type number/, {
    type: "number",
    default: "3",
  }],
  ["a URL beside a secret", /can be a URL, a host or an IP address and stands beside a secret/, {
    type: "string",
    pattern: "^https://[a-z.]+/[a-z]*$",
  }, { key: KEY }],
  ["a URL of any scheme beside a secret", /can be a URL/, {
    type: "string",
    pattern: "^[a-z]+://[a-z]+:[0-9]{4}$",
  }, { key: KEY }],
  ["a host beside a secret", /can be a URL, a host/, {
    type: "string",
    pattern: "^(?:[a-z0-9-]+\\.)*[a-z0-9-]+$",
  }, { key: KEY }],
  ["a host of a known domain beside a secret", /can be a URL, a host/, {
    type: "string",
    pattern: "^[a-z]+\\.example\\.com$",
  }, { key: KEY }],
  ["an IP address beside a secret", /can be a URL, a host or an IP/, {
    type: "string",
    pattern: "^[0-9]{1,3}(?:\\.[0-9]{1,3}){3}$",
  }, { key: KEY }],
  ["an IPv6 address beside a secret", /can be a URL, a host or an IP/, {
    type: "string",
    pattern: "^[0-9a-f:]+$",
  }, { key: KEY }],
  ["hosts in a list beside a secret", /can be a URL, a host/, {
    type: "array",
    pattern: "^[a-z.]+$",
  }, { key: KEY }],
  ["a text that only has a length beside a secret", /can be a URL/, {
    type: "string",
    maxLength: 64,
  }, { key: KEY }],
  ["a host by its name beside a secret", /options\.api_host: is a URL or a host by its name/, {
    type: "boolean",
  }, { key: KEY, api_host: { type: "string", pattern: "^[a-z]+$" } }],
];

for (const [what, why, ...template] of REFUSED) {
  Deno.test(`judgeOptions: refuses ${what}`, () => {
    const found = faults(...template);
    assert.equal(found.length, 1, JSON.stringify(found));
    assert.match(found[0] ?? "", /^addons\.dns\.options\.(?:x|api_host): /);
    assert.match(found[0] ?? "", why);
    if (!/default/.test(what)) assert.match(found[0] ?? "", /"unlimited": true.*SECURITY\.md/);
  });
}

Deno.test("judgeOptions: of a host on the way to something that is not a chart too", () => {
  const template = AddonTemplate.parse({
    options: { x: { type: "string", maxLength: 64 }, key: KEY },
    objects: [{ apiVersion: "x/v1", kind: "Platform", spec: { x: "${options.x}" } }],
  });
  assert.match(judgeOptions({ addons: { one: template } }).join(), /options\.x: can be a URL/);
});

Deno.test("judgeOptions: says all of them, and of which add-on", () => {
  const found = faults({ type: "string" }, { key: KEY, url: { type: "string" } });
  assert.deepEqual(found.map((line) => line.split(":")[0]), [
    "addons.dns.options.x",
    "addons.dns.options.x",
    "addons.dns.options.url",
  ]);
});

Deno.test("isNamedDestination: by the words of a name", () => {
  const named = [
    ...[
      "url",
      "apiUrl",
      "api_url",
      "baseurl",
      "webhook_url_path",
      "endpoint",
      "smtp-host",
      "hosts",
    ],
    ...[
      "server",
      "smtp_server",
      "address",
      "addresses",
      "proxy",
      "dns.servers",
      "registry",
      "target",
    ],
    ...[
      "http_proxy",
      "HTTP_PROXY",
      "node_ip",
      "ips",
      "redirect_uri",
      "domain",
      "remoteHost",
      "dbhost",
    ],
  ];
  const others = [
    ...[
      "name",
      "server_type",
      "host_network",
      "curl",
      "ghost",
      "observer",
      "strip",
      "zip",
      "region",
    ],
    ...["ip_family", "urlencoded", "addressable", "targets_max", "email", "replicas", "proxy_mode"],
  ];
  for (const name of named) assert.ok(isNamedDestination(name), name);
  for (const name of others) assert.ok(!isNamedDestination(name), name);
});

Deno.test("judgeOptions: the releases of the fixtures and of the fake portal may be signed", () => {
  for (const release of Object.values(RELEASES)) assert.deepEqual(judgeOptions(release), []);
  const { addons } = firstRelease().payload as { addons: JsonValue };
  assert.deepEqual(judgeOptions(Release.pick({ addons: true }).parse({ addons })), []);
});

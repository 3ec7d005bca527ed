import assert from "node:assert/strict";
import type { JsonValue } from "../../../core/json.ts";
import { neededChanges } from "../../../core/protocol/approved_changes.ts";
import {
  hostsOf,
  Registries,
  type ShownRegistries,
  shownRegistries,
  unnamedRegistry,
} from "../../../core/protocol/registries.ts";

const mirror = (host: string, ...endpoint: string[]): Registries => ({
  mirrors: { [host]: { endpoint } },
});
const BOX = { sealed: "AAAA" };

Deno.test("Registries: hosts and endpoints as k3s takes them", () => {
  const hosts = ["docker.io", "registry.example.com:5000", "10.0.0.7:5000", "[fd00::1]:5000", "*"];
  for (const host of hosts) assert.ok(Registries.safeParse(mirror(host)).success, host);
  const odd = ["", "Docker.io", "docker.io/library", "https://docker.io", "a b", "-a", "a:b", "**"];
  for (const host of odd) {
    assert.ok(!Registries.safeParse(mirror(host)).success, host);
    assert.ok(!Registries.safeParse({ configs: { [host]: {} } }).success, host);
  }
  const endpoints = [
    "https://mirror.example.com",
    "http://10.0.0.7:5000/v2",
    "mirror.example.com",
    "https://mirror.example.com/v2/proxy",
    "https://[fd00::1]:5000",
  ];
  for (const one of endpoints) {
    assert.ok(Registries.safeParse(mirror("docker.io", one)).success, one);
  }
  const wrong = [
    "",
    "*",
    "ftp://mirror.example.com",
    "https://user:pass@mirror.example.com",
    "https://mirror.example.com?x=1",
    "https://mirror.example.com#x",
    "https://mirror.example.com/../x",
    "https://mirror.example.com/a b",
    "https://mirror.example.com\n",
    "file:///etc/shadow",
  ];
  for (const one of wrong) {
    const parsed = Registries.safeParse(mirror("docker.io", one));
    assert.ok(!parsed.success, one);
    assert.doesNotMatch(parsed.error.message, /user:pass/);
  }
});

Deno.test("Registries: an object that holds a secret has no unknown member, and a user is plain text", () => {
  const configs = (one: unknown) => Registries.safeParse({ configs: { "docker.io": one } }).success;
  assert.ok(configs({ username: "ada", password: BOX, identity_token: BOX }));
  assert.ok(configs({}));
  for (const one of [{ auth: "x" }, { tls: {} }, { password: { ...BOX, to: "x" } }]) {
    assert.ok(!configs(one), JSON.stringify(one));
  }
  for (const username of ["a\nb", "\ud800", 7]) assert.ok(!configs({ username }));
});

Deno.test("unnamedRegistry: every host and endpoint has to be one that the release names", () => {
  const NAMED = ["docker.io", "mirror.example.com", "http://lan.example.com:5000", "*"];
  const allowed: Registries[] = [
    {},
    mirror("docker.io", "https://mirror.example.com", "mirror.example.com/v2"),
    mirror("*", "https://mirror.example.com/"),
    mirror("lan.example.com:5000", "http://lan.example.com:5000/v2"),
    { configs: { "docker.io": {}, "lan.example.com:5000": { password: BOX } } },
  ];
  for (const one of allowed) assert.equal(unnamedRegistry(one, NAMED), null, JSON.stringify(one));
  const refused: [Registries, RegExp][] = [
    [mirror("ghcr.io"), /^the registry ghcr\.io$/],
    [
      mirror("docker.io", "https://evil.example.com"),
      /^the endpoint https:\/\/evil.* of docker\.io/,
    ],
    [mirror("docker.io", "https://mirror.example.com", "https://evil.example.com"), /evil/],
    // Plain http, another port, or a path to somebody else's images, are not what a host's name says.
    [mirror("docker.io", "http://mirror.example.com"), /http:\/\/mirror/],
    [mirror("docker.io", "https://mirror.example.com:444"), /444/],
    [mirror("docker.io", "https://mirror.example.com/v2/evil"), /evil/],
    [mirror("docker.io", "https://lan.example.com:5000"), /https:\/\/lan/],
    [mirror("docker.io", "https://mirror.example.com.evil.example.com"), /evil/],
    [{ configs: { "evil.example.com": {} } }, /^the registry evil\.example\.com$/],
  ];
  for (const [one, why] of refused) {
    assert.match(unnamedRegistry(one, NAMED) ?? "", why, JSON.stringify(one));
  }
  // That any registry may be mirrored names no host that may serve for it.
  assert.notEqual(unnamedRegistry(mirror("docker.io"), ["*"]), null);
  assert.notEqual(unnamedRegistry(mirror("*"), ["docker.io"]), null);
  assert.equal(
    unnamedRegistry(mirror("*", "https://m.example.com/v2/proxy/"), [
      "*",
      "https://m.example.com/v2/proxy",
    ]),
    null,
  );
});

Deno.test("hostsOf: registries, the hosts of their endpoints, and what has credentials, each once", () => {
  const registries = {
    ...mirror("docker.io", "https://mirror.example.com/v2/x", "docker.io"),
    configs: { "mirror.example.com": {}, "ghcr.io": {} },
  };
  assert.deepEqual(hostsOf(registries), ["docker.io", "mirror.example.com", "ghcr.io"]);
});

/** The change that needs an approval, or null. */
function change(before: Registries | null, after: Registries | undefined, named: string[] = []) {
  const snapshots = { schedule: "0 * * * *", retention: 5 };
  const registries: ShownRegistries | null = before === null ? null : shownRegistries(before);
  const changes = neededChanges(
    { s3Target: undefined, snapshots, registries },
    { secrets: {}, host: { snapshots, registries: after } },
    { s3Target: null, registries: named },
  );
  assert.ok(changes.every(({ what }) => what === "registries"));
  const [only] = changes;
  return only === undefined ? null : [only.from, only.to] as [JsonValue, JsonValue];
}

const MIRRORED = mirror("docker.io", "https://mirror.example.com");

Deno.test("neededChanges: another mirror needs the owner's approval, whatever the release names", () => {
  const named = ["docker.io", "mirror.example.com"];
  assert.deepEqual(change(null, MIRRORED, named), [null, MIRRORED]);
  assert.deepEqual(change(MIRRORED, undefined, named), [MIRRORED, null]);
  assert.deepEqual(change(MIRRORED, {}, named), [MIRRORED, {}]);
  const other = mirror("docker.io", "https://other.example.com");
  assert.deepEqual(change(MIRRORED, other), [MIRRORED, other]);
  const endpoints = ["https://other.example.com", "https://mirror.example.com"];
  const turned = mirror("docker.io", ...endpoints.toReversed());
  assert.notEqual(change(mirror("docker.io", ...endpoints), turned), null);
  for (
    const [before, after] of [[null, undefined], [null, {}], [{}, undefined], [MIRRORED, MIRRORED]]
  ) {
    assert.equal(change(before as Registries | null, after as Registries), null);
  }
});

Deno.test("neededChanges: credentials of a registry in use, or that the release names, are the portal's", () => {
  const login = (box: string) => ({ username: "ada", password: { sealed: box } });
  const with_ = (host: string, box: string): Registries => ({
    ...MIRRORED,
    configs: { [host]: login(box) },
  });
  for (const host of ["docker.io", "mirror.example.com"]) {
    assert.equal(change(MIRRORED, with_(host, "AAAA")), null);
    assert.equal(change(with_(host, "AAAA"), with_(host, "BBBB")), null);
    assert.equal(change(with_(host, "AAAA"), MIRRORED), null);
  }
  assert.equal(change(MIRRORED, with_("ghcr.io", "AAAA"), ["ghcr.io"]), null);
  const shown = {
    ...MIRRORED,
    configs: { "ghcr.io": { username: "ada", password: { sealed: true } } },
  };
  assert.deepEqual(change(MIRRORED, with_("ghcr.io", "AAAA")), [MIRRORED, shown]);
  assert.equal(change(with_("ghcr.io", "AAAA"), with_("ghcr.io", "BBBB")), null);
});

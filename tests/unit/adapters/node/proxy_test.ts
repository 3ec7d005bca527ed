import assert from "node:assert/strict";
import { type Environment, proxyFor } from "../../../../adapters/node/proxy.ts";

const PROXY = "http://proxy.test:3128/";

/** The proxy's URL, `direct`, or `invalid <variable>`. */
function way(url: string, environment: Environment): string {
  const route = proxyFor(new URL(url), environment);
  if (route.kind === "proxy") return route.url;
  return route.kind === "invalid" ? `invalid ${route.variable}` : "direct";
}

function table(name: string, rows: readonly (readonly [string, Environment, string])[]): void {
  Deno.test(`proxyFor: ${name}`, () => {
    for (const [url, environment, expected] of rows) {
      assert.equal(way(url, environment), expected, `${url} with ${JSON.stringify(environment)}`);
    }
  });
}

table("takes the variable of the scheme, then ALL_PROXY, in both cases", [
  ["https://a.test/", {}, "direct"],
  ["https://a.test/", { HTTPS_PROXY: PROXY }, PROXY],
  ["https://a.test/", { https_proxy: PROXY }, PROXY],
  ["https://a.test/", { HTTP_PROXY: PROXY, http_proxy: PROXY }, "direct"],
  ["http://a.test/", { HTTP_PROXY: PROXY }, PROXY],
  ["http://a.test/", { http_proxy: PROXY }, PROXY],
  ["http://a.test/", { HTTPS_PROXY: PROXY }, "direct"],
  ["https://a.test/", { ALL_PROXY: PROXY }, PROXY],
  ["http://a.test/", { all_proxy: PROXY }, PROXY],
  ["https://a.test/", { ALL_PROXY: "http://other.test:1/", HTTPS_PROXY: PROXY }, PROXY],
  ["https://a.test/", { HTTPS_PROXY: "http://other.test:1/", https_proxy: PROXY }, PROXY],
  ["https://a.test/", { https_proxy: "", HTTPS_PROXY: " " }, "direct"],
]);

table("understands the forms of a proxy", [
  ["https://a.test/", { HTTPS_PROXY: "proxy.test:3128" }, PROXY],
  ["https://a.test/", { HTTPS_PROXY: "10.0.0.1:3128" }, "http://10.0.0.1:3128/"],
  ["https://a.test/", { HTTPS_PROXY: "https://u:p@proxy.test" }, "https://u:p@proxy.test/"],
  ["https://a.test/", { HTTPS_PROXY: "socks5://proxy.test:1080" }, "socks5://proxy.test:1080"],
]);

table("does not guess at what is no proxy", [
  ["https://a.test/", { HTTPS_PROXY: "ftp://proxy.test/" }, "invalid HTTPS_PROXY"],
  ["https://a.test/", { all_proxy: "http://" }, "invalid all_proxy"],
  ["https://a.test/", { HTTPS_PROXY: "http://proxy.test:99999/" }, "invalid HTTPS_PROXY"],
]);

const ALL = { ALL_PROXY: PROXY, HTTPS_PROXY: PROXY, HTTP_PROXY: PROXY };

table("is direct for loopback and the metadata service, whatever the variables say", [
  ["http://127.0.0.1:8080/", ALL, "direct"],
  ["http://127.9.8.7/", ALL, "direct"],
  ["http://2130706433/", ALL, "direct"],
  ["https://[::1]:6443/", ALL, "direct"],
  ["https://localhost:6443/", ALL, "direct"],
  ["http://169.254.169.254/hetzner/v1/metadata/instance-id", ALL, "direct"],
  ["http://169.254.169.253/", ALL, PROXY],
  ["http://localhost.test/", ALL, PROXY],
  ["http://128.0.0.1/", ALL, PROXY],
]);

function bypass(noProxy: string, direct: readonly string[], proxied: readonly string[]): void {
  const environments = [{ ...ALL, NO_PROXY: noProxy }, { ...ALL, no_proxy: noProxy }];
  table(
    `NO_PROXY "${noProxy}"`,
    environments.flatMap((environment) => [
      ...direct.map((url) => [url, environment, "direct"] as const),
      ...proxied.map((url) => [url, environment, PROXY] as const),
    ]),
  );
}

bypass("*", ["https://a.test/", "http://10.0.0.1/", "http://[fd00::1]/"], []);
bypass("a.test", ["https://a.test/", "https://b.A.test/", "https://a.test./"], [
  "https://ba.test/",
  "https://a.test.org/",
]);
bypass(".a.test", ["https://a.test/", "https://c.b.a.test/"], ["https://xa.test/"]);
bypass("*.a.test", ["https://a.test/", "https://b.a.test/"], ["https://xa.test/"]);
bypass("A.TEST:8443, b.test", ["https://a.test:8443/", "https://b.test:1/"], ["https://a.test/"]);
bypass("a.test:443", ["https://a.test/"], ["http://a.test/"]);
bypass("10.0.0.1", ["http://10.0.0.1/"], ["http://10.0.0.10/", "http://10.0.0.1.test/"]);
bypass("10.0.0.1:81", ["http://10.0.0.1:81/"], ["http://10.0.0.1/"]);
bypass("10.0.0.0/8 192.168.4.0/22", ["http://10.255.0.1/", "http://192.168.7.1/"], [
  "http://11.0.0.1/",
  "http://192.168.8.1/",
  "http://10.test/",
]);
bypass("fd00::/8", ["http://[fd12:3456::1]/"], ["http://[fe80::1]/", "http://10.0.0.1/"]);
bypass("2001:db8::1", ["http://[2001:db8:0:0::1]/"], ["http://[2001:db8::2]/"]);
bypass("[2001:db8::1]:8080", ["http://[2001:db8::1]:8080/"], ["http://[2001:db8::1]/"]);
bypass("0.0.0.0/0", ["http://10.0.0.1/"], ["http://a.test/", "http://[fd00::1]/"]);
bypass("10.0.0.0/33,10.0.0.0/x,10.0.0.0/8/8,/,:,.", [], ["http://10.0.0.1/", "http://a.test/"]);

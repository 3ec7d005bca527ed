import { parse } from "yaml";
import { isJsonObject, type JsonObject } from "../../core/json.ts";
import { decodeBase64 } from "../../core/protocol/base64.ts";
import { isLoopbackHost } from "../../core/protocol/loopback.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { Secret } from "../../core/secret.ts";

/** How to reach a Kubernetes API and as whom, as a kubeconfig's current context says it. */
export interface KubeAccess {
  /** Absolute, without a slash at its end. `https`, or `http` on loopback. */
  readonly server: string;
  /** PEM; absent only with plain http. */
  readonly authority?: string;
  /** PEM. */
  readonly clientCertificate?: { readonly cert: string; readonly key: Secret };
  readonly token?: Secret;
}

/** Settings that would change whom we trust, who we are or the way there; none of them is ever ignored. */
const REFUSED_CLUSTER = [
  "certificate-authority",
  "insecure-skip-tls-verify",
  "proxy-url",
  "tls-server-name",
];
const REFUSED_USER = [
  "as",
  "auth-provider",
  "client-certificate",
  "client-key",
  "exec",
  "password",
  "tokenFile",
  "username",
];

/**
 * Reads the text of a kubeconfig with embedded certificates, the kind that k3s writes. The error says
 * what is wrong without quoting the file: it holds the key of the cluster's administrator.
 */
export function parseKubeconfig(text: string): Result<KubeAccess, string> {
  const config = parseYaml(text);
  if (config === null) return fail("is no YAML mapping");
  const context = named(config, "contexts", config["current-context"], "context");
  if (context === null) return fail("has no usable current-context");
  const cluster = named(config, "clusters", context["cluster"], "cluster");
  if (cluster === null) return fail("does not hold the cluster of its current-context");
  const user = named(config, "users", context["user"], "user");
  if (user === null) return fail("does not hold the user of its current-context");

  const refused = firstSet(cluster, REFUSED_CLUSTER) ?? firstSet(user, REFUSED_USER);
  if (refused !== null) return fail(`sets ${refused}, which this agent does not accept`);
  const server = parseServer(cluster["server"]);
  if (!server.ok) return server;
  const authority = pem(cluster, "certificate-authority-data", "CERTIFICATE");
  if (!authority.ok) return authority;
  if (authority.value === null && server.value.startsWith("https:")) {
    return fail("names no certificate-authority-data for its https server");
  }
  const cert = pem(user, "client-certificate-data", "CERTIFICATE");
  if (!cert.ok) return cert;
  const key = pem(user, "client-key-data", "PRIVATE KEY");
  if (!key.ok) return key;
  if ((cert.value === null) !== (key.value === null)) {
    return fail("holds only one of client-certificate-data and client-key-data");
  }
  const token = user["token"];
  if (token !== undefined && !isHeaderText(token)) return fail("holds a token that is none");
  return ok({
    server: server.value,
    ...(authority.value === null ? {} : { authority: authority.value }),
    ...(cert.value === null || key.value === null
      ? {}
      : { clientCertificate: { cert: cert.value, key: new Secret(key.value) } }),
    ...(token === undefined ? {} : { token: new Secret(token) }),
  });
}

function parseYaml(text: string): JsonObject | null {
  try {
    const value: unknown = parse(text, {
      maxAliasCount: 0,
      prettyErrors: false,
      logLevel: "error",
    });
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}

/** The entry of `list` that is called `name`: `[{name, <inner>: {...}}]`. */
function named(
  config: JsonObject,
  list: string,
  name: unknown,
  inner: string,
): JsonObject | null {
  const entries = config[list];
  if (typeof name !== "string" || !Array.isArray(entries)) return null;
  const entry = entries.find((each) => isJsonObject(each) && each["name"] === name);
  return isJsonObject(entry) && isJsonObject(entry[inner]) ? entry[inner] : null;
}

function firstSet(object: JsonObject, keys: readonly string[]): string | null {
  const isSet = (key: string) => ![undefined, null, false, ""].includes(object[key] as null);
  return keys.find(isSet) ?? null;
}

function parseServer(value: unknown): Result<string, string> {
  if (typeof value !== "string" || !URL.canParse(value)) return fail("names no server URL");
  const url = new URL(value);
  const plain = url.username === "" && url.password === "" && url.search === "" && url.hash === "";
  if (!plain) return fail("names a server URL with more than a host, a port and a path");
  if (url.protocol !== "https:" && !(url.protocol === "http:" && isLoopbackHost(url.hostname))) {
    return fail("names a server that is neither https nor http on loopback");
  }
  return ok(`${url.origin}${url.pathname.replace(/\/+$/, "")}`);
}

function pem(
  object: JsonObject,
  key: string,
  label: string,
): Result<string | null, string> {
  const value = object[key];
  if (value === undefined || value === null || value === "") return ok(null);
  const bytes = typeof value === "string" ? decodeBase64(value.replaceAll(/\s/g, "")) : null;
  const text = bytes === null ? "" : new TextDecoder().decode(bytes);
  const isPem = text.includes("-----BEGIN ") && text.includes(`${label}-----`);
  return isPem ? ok(text) : fail(`holds ${key} that is no base64 of PEM`);
}

/** What may follow `Bearer ` in a header. */
function isHeaderText(value: unknown): value is string {
  return typeof value === "string" && /^[\x21-\x7e]+$/.test(value);
}

import * as z from "zod";
import type { JsonValue } from "../json.ts";
import { withoutBoxes } from "./approval.ts";
import { Sealed } from "./sealed.ts";

/**
 * Registries of `host.registries` (protocol §4): where k3s fetches images from, and with which credentials.
 * Whoever decides that decides which images privileged Pods run, so the hosts and endpoints have to be
 * signed by the release or approved by the owner (trust.md T3, T4).
 */

const HOST = "(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*" +
  "|\\[[0-9a-f:.]+\\])(?::[0-9]{1,5})?";

/** The name that stands for every registry without a mirror of its own. */
export const ANY_REGISTRY = "*";

/** A registry by its name in an image's reference, such as `docker.io` or `registry.example.com:5000`. */
export const RegistryHost = z.string().max(300).regex(
  new RegExp(`^(?:\\*|${HOST})$`),
  "is not a valid registry (host[:port] in lower case, or * for every other one)",
);

/** Where images of a registry are fetched from: `host[:port]`, or that with a scheme, a path or both. */
export const RegistryEndpoint = z.string().max(500).superRefine((text, context) => {
  if (partsOf(text) === null) {
    context.addIssue({
      code: "custom",
      message: "is not a valid endpoint (https://host[:port][/path], without user, password or " +
        "query)",
    });
  }
});

/** What a registry is asked with. It holds secrets, so it refuses unknown fields (protocol §1). */
export const RegistryCredentials = z.strictObject({
  username: z.string().max(1000).refine(isPrintable, "must not contain control characters")
    .optional(),
  password: Sealed.optional(),
  identity_token: Sealed.optional(),
});

/** Mirrors and credentials, by registry. */
export const Registries = z.object({
  mirrors: z.record(
    RegistryHost,
    z.object({ endpoint: z.array(RegistryEndpoint).max(20) }),
  ).optional(),
  configs: z.record(RegistryHost, RegistryCredentials).optional(),
});
/** One of them. */
export type Registries = z.infer<typeof Registries>;

/** The members of a registry's credentials that are sealed. */
export const SEALED_CREDENTIALS = ["password", "identity_token"] as const;

function isPrintable(text: string): boolean {
  // deno-lint-ignore no-control-regex -- they are what is looked for
  return text.isWellFormed() && !/[\x00-\x1f\x7f-\x9f]/.test(text);
}

interface EndpointParts {
  /** Null where none is written: k3s takes https, and http for a port of the node itself. */
  readonly scheme: "http" | "https" | null;
  readonly host: string;
  /** Empty where it is the registry's own root. */
  readonly path: string;
}

const ENDPOINT = new RegExp(`^(?:(https?)://)?(${HOST})(/[A-Za-z0-9._~/-]*)?$`);

function partsOf(endpoint: string): EndpointParts | null {
  const [whole, scheme, host, path = ""] = ENDPOINT.exec(endpoint) ?? [];
  if (whole === undefined || host === undefined) return null;
  if (path.split("/").some((part) => part === "." || part === "..")) return null;
  const isRoot = /^(?:\/|\/v2\/?)?$/.test(path);
  return {
    scheme: scheme === "http" || scheme === "https" ? scheme : null,
    host,
    path: isRoot ? "" : path.replace(/\/+$/, ""),
  };
}

/** The registries that a signed release names, as `k3s.registries` has them: hosts and endpoints. */
export type NamedRegistries = readonly string[];

/**
 * The first host or endpoint that is not one of `named`, for people; null where all of them are. A host is
 * named by itself or by an endpoint on it. An endpoint is named by itself, or by its host where it is https
 * and has no path: over plain http anybody on the way answers, and a path may lead to images of another
 * owner on the same host.
 */
export function unnamedRegistry(registries: Registries, named: NamedRegistries): string | null {
  for (const [host, { endpoint }] of Object.entries(registries.mirrors ?? {})) {
    if (!isNamedHost(host, named)) return `the registry ${host}`;
    const unnamed = endpoint.find((one) => !isNamedEndpoint(one, named));
    if (unnamed !== undefined) return `the endpoint ${unnamed} of ${host}`;
  }
  const host = Object.keys(registries.configs ?? {}).find((one) => !isNamedHost(one, named));
  return host === undefined ? null : `the registry ${host}`;
}

/** Whether a registry is one of those that are named. */
export function isNamedHost(host: string, named: NamedRegistries): boolean {
  return named.some((name) => name === host || partsOf(name)?.host === host);
}

function isNamedEndpoint(endpoint: string, named: NamedRegistries): boolean {
  const asked = partsOf(endpoint);
  if (asked === null) return false;
  const isPlain = asked.path === "" && asked.scheme !== "http";
  return named.some((name) => {
    const known = partsOf(name);
    if (known === null || known.host !== asked.host) return false;
    if (isPlain && known.scheme === null && known.path === "") return true;
    return known.path === asked.path && (known.scheme ?? "https") === (asked.scheme ?? "https");
  });
}

/** Registries as an approval shows them and identity.json keeps them: each box is `{"sealed":true}`. */
export const ShownRegistries = z.object({
  mirrors: z.record(z.string(), z.object({ endpoint: z.array(z.string()) })).optional(),
  configs: z.record(z.string(), z.record(z.string(), z.json())).optional(),
});
/** One of them. */
export type ShownRegistries = z.infer<typeof ShownRegistries>;

/** What an approval shows of registries. */
export function shownRegistries(registries: Registries): ShownRegistries {
  return ShownRegistries.parse(withoutBoxes(registries as unknown as JsonValue));
}

/** The hosts that registries name: registries, the hosts of endpoints, those that have credentials. */
export function hostsOf(
  { mirrors = {}, configs = {} }: Registries | ShownRegistries,
): readonly string[] {
  const endpoints = Object.values(mirrors).flatMap(({ endpoint }) =>
    endpoint.flatMap((one) => partsOf(one)?.host ?? [])
  );
  return [...new Set([...Object.keys(mirrors), ...endpoints, ...Object.keys(configs)])];
}

import type { Bucket } from "../../../core/ports/s3.ts";
import { isLoopbackHost } from "../../../core/protocol/loopback.ts";
import { fail, ok, type Result } from "../../../core/result.ts";

/** Endpoints that k3s's own client asks by host name when the lookup is `auto`. */
const BY_HOST = /(^|\.)(amazonaws\.com(\.cn)?|storage\.googleapis\.com|aliyuncs\.com)$/;

/**
 * The URL of a bucket, or, with a key, of an object; `query` in the order of its names. The error says
 * what about the bucket's settings or the key cannot be used.
 */
export function addressOf(
  bucket: Bucket,
  key: string,
  query: Readonly<Record<string, string>> = {},
): Result<URL, string> {
  const endpoint = parseEndpoint(bucket);
  if (!endpoint.ok) return endpoint;
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{1,254}$/.test(bucket.bucket)) {
    return fail("this is no name of a bucket (letters, digits, dots, dashes)");
  }
  if (!/^[A-Za-z0-9-]{1,64}$/.test(bucket.region)) {
    return fail("the region has characters that no region has");
  }
  const { protocol, host } = endpoint.value;
  const isByHost = isNamedByHost(bucket, endpoint.value);
  const origin = `${protocol}//${isByHost ? `${bucket.bucket.toLowerCase()}.` : ""}${host}`;
  const path = `${isByHost ? "" : `/${bucket.bucket}`}/${key.split("/").map(encode).join("/")}`;
  const search = Object.entries(query).toSorted(([a], [b]) => a < b ? -1 : 1)
    .map(([name, value]) => `${encode(name)}=${encode(value)}`).join("&");
  if (!URL.canParse(origin + path)) return fail("endpoint and bucket make no URL");
  const url = new URL(`${origin}${path}${search === "" ? "" : `?${search}`}`);
  // A URL swallows "." and ".." in whatever way they are written: it would be another object.
  return url.pathname === path ? ok(url) : fail("a key with . or .. in it cannot be asked for");
}

function parseEndpoint({ endpoint, region }: Bucket): Result<URL, string> {
  const text = endpoint.includes("://") ? endpoint : `https://${endpoint}`;
  if (!URL.canParse(text)) return fail("the endpoint is neither host[:port] nor a URL");
  const url = new URL(text);
  const isBare = url.pathname === "/" && url.search === "" && url.hash === "" &&
    url.username === "" && url.password === "";
  if (!isBare || (url.protocol !== "https:" && url.protocol !== "http:")) {
    return fail("the endpoint may be host[:port] or https://host[:port], and nothing behind it");
  }
  if (url.protocol === "http:" && !isLoopbackHost(url.hostname)) {
    return fail("the endpoint is plain http, which is for loopback only: use https");
  }
  // The global name knows one region only, and answers for the others with redirects.
  if (url.host === "s3.amazonaws.com") url.host = `s3.${region}.amazonaws.com`;
  return ok(url);
}

function isNamedByHost({ bucket, lookup = "auto" }: Bucket, { protocol, hostname }: URL): boolean {
  if (lookup !== "auto") return lookup === "dns";
  // A wildcard certificate covers one label, not the dots of a bucket's name.
  return BY_HOST.test(hostname) && !(protocol === "https:" && bucket.includes("."));
}

/** Percent-encoding as S3 signs it: everything but unreserved characters. */
function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

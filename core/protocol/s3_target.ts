import * as z from "zod";
import { isLoopbackHost } from "./loopback.ts";

/**
 * Where snapshots go and come from, wherever it stands (trust.md T3). What is accepted here is what k3s and
 * the agent's own S3 client use; nothing else reaches either of them.
 */

/** `host[:port]`, or that with a scheme: https, and http on loopback only. */
export const S3Endpoint = z.string().max(300).superRefine((text, context) => {
  const fault = endpointFault(text);
  if (fault !== null) context.addIssue({ code: "custom", message: fault });
});

const SHAPE = /^(?:(https?):\/\/)?(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?\/?$/;

function endpointFault(text: string): string | null {
  const [whole, scheme = "https"] = SHAPE.exec(text) ?? [];
  const url = whole === undefined ? null : urlOf(text, scheme);
  if (url === null || url.port === "0") return "must be host[:port] or https://host[:port]";
  if (scheme === "http" && !isLoopbackHost(url.hostname)) {
    return "must be https: http is for loopback only";
  }
  return isLinkLocal(url.hostname)
    ? "must not be in 169.254.0.0/16, where the metadata service is"
    : null;
}

function urlOf(text: string, scheme: string): URL | null {
  const absolute = text.includes("://") ? text : `${scheme}://${text}`;
  return URL.canParse(absolute) ? new URL(absolute) : null;
}

/** The link-local IPv4 network as the URL parser writes it, also inside of IPv6 addresses that carry it. */
function isLinkLocal(hostname: string): boolean {
  return hostname.startsWith("169.254.") ||
    /^\[(?:::ffff:|::|64:ff9b::|::ffff:0:)a9fe:[0-9a-f]{1,4}\]$/.test(hostname) ||
    hostname.startsWith("[2002:a9fe:");
}

/** A bucket's name by S3's rules. */
export const S3Bucket = z.string().regex(
  /^(?!.*\.\.)(?![0-9]{1,3}(?:\.[0-9]{1,3}){3}$)(?!xn--)[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/,
  "is not a valid bucket name (3 to 63 lower-case letters, digits, dots and dashes; not an IP address)",
);

/** A region's name. */
export const S3Region = z.string().regex(/^[a-z0-9-]{1,64}$/, "is not a valid region");

/** Longest folder: with a snapshot's name behind it a key stays below S3's 1,024 bytes. */
const MAX_FOLDER = 512;

/**
 * The folder of a bucket, normalised as k3s does it: `a//b` is `a/b`, `./f` and `f/` are `f`. k3s would write
 * `/f` to keys that begin with a slash, so that is refused.
 */
export const S3Folder = z.string().max(MAX_FOLDER).superRefine((text, context) => {
  const fault = folderFault(text);
  if (fault !== null) context.addIssue({ code: "custom", message: fault });
}).overwrite(normalFolder);

function folderFault(text: string): string | null {
  if (text.startsWith("/")) return "must not begin with a slash";
  // deno-lint-ignore no-control-regex -- they are what is looked for
  if (/[\x00-\x1f\x7f-\x9f]/.test(text) || !text.isWellFormed()) {
    return "must not contain control characters";
  }
  if (text.split("/").includes("..")) return "must not contain '..'";
  return normalFolder(text) === "" ? "must not be empty" : null;
}

function normalFolder(text: string): string {
  return text.split("/").filter((part) => part !== "" && part !== ".").join("/");
}

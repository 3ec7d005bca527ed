import * as z from "zod";
import { isLoopbackHost } from "../protocol/loopback.ts";
import { fail, ok } from "../result.ts";
import type { Result } from "../result.ts";

const DOMAIN =
  /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/i;

/**
 * The base of every request, without a slash at its end (protocol §1): from the portal's domain
 * (`example.com`) or from the full base URL, whose path is taken as it is. Plain http only on loopback.
 */
export function portalBase(portal: string): Result<string, string> {
  const ofDomain = `https://agents.${portal.toLowerCase()}/agent/v1`;
  // A number at its end makes it an IP address to URLs, and no valid one.
  if (DOMAIN.test(portal) && URL.canParse(ofDomain)) return ok(ofDomain);
  if (!/^https?:\/\//.test(portal) || !URL.canParse(portal)) {
    return fail(
      `'${portal}' is neither a domain nor a URL such as https://agents.example.com/agent/v1`,
    );
  }
  const url = new URL(portal);
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") {
    return fail(`'${url.origin}' must have no user, query or fragment`);
  }
  if (url.protocol === "http:" && !isLoopbackHost(url.hostname)) {
    return fail(`'${portal}' is plain http, which is taken for loopback only: use https`);
  }
  return ok(`${url.origin}${url.pathname.replace(/\/+$/, "")}`);
}

/** A base as {@link portalBase} makes it, in a file of the agent. */
export const PortalBase = z.string().refine((text) => {
  const base = portalBase(text);
  return base.ok && base.value === text;
}, "is no base URL of a portal");

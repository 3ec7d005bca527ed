import { readK3sSettings } from "../../host/k3s_settings.ts";
import type { Ports } from "../../ports/mod.ts";
import type { ServerView } from "../../ports/servers.ts";
import { fail, type Result } from "../../result.ts";
import { OWN_SERVER } from "../restore/other_servers.ts";
import { configuredToken } from "../restore/tokens.ts";

/** The cluster as this server's own k3s shows it. The error is for people. */
export async function ownView(ports: Ports): Promise<Result<ServerView, string>> {
  const settings = await readK3sSettings(ports.disk);
  if (!settings.ok) return settings;
  const token = await configuredToken(ports, settings.value);
  if (!token.ok) return token;
  if (token.value === null) return fail("this node has no token of k3s to ask with");
  const view = await ports.servers.look(OWN_SERVER, token.value);
  return view.ok ? view : fail(view.error.message);
}

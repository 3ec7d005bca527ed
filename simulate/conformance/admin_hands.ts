import { isJsonObject, type JsonObject, type JsonValue } from "../../core/json.ts";
import type { Random } from "../../core/ports/random.ts";
import { hashOf } from "../../core/protocol/first_config.ts";
import { Secret } from "../../core/secret.ts";
import type { Hands } from "./hands.ts";
import type { TokenEntry } from "./token_entry.ts";

const IMAGE = "fedcba9876543210".repeat(4);
/** Long over, and far away, whatever the portal's clock says. */
const PAST = "2020-01-01T00:00:00Z";
const FUTURE = "2099-01-01T00:00:00Z";

/**
 * One call of the admin API at `path`, such as `/admin/tokens`: the body of a 200, or null. Never throws.
 */
export type AdminCall = (
  method: "POST" | "PATCH",
  path: string,
  body: JsonObject,
) => Promise<JsonValue>;

/**
 * Hands at a portal that has the fake portal's admin API, or the few calls of it that are used here
 * (docs/conformance.md lists them). Everything happens in clusters of their own.
 */
export function createAdminHands(call: AdminCall, random: Random): Hands {
  const run = Array.from(random.bytes(4), (byte) => byte.toString(16).padStart(2, "0")).join("");
  const secret = (name: string) => ({ plain: `conformance-${name}-${run}` });

  /** A token for the only node of the cluster that `name` names; none where the portal gives none. */
  async function token(name: string, differs: Partial<TokenEntry> = {}): Promise<TokenEntry[]> {
    const clusterId = `conformance-${run}-${name}`;
    const [nodeName, serverId] = [`${clusterId}-1`, "4711001"];
    const answer = await call("POST", "/admin/tokens", {
      cluster_id: clusterId,
      node_name: nodeName,
      server_id: serverId,
      ...(differs.expired === true ? { expires_at: PAST } : {}),
    });
    const text = isJsonObject(answer) ? answer["token"] : undefined;
    if (typeof text !== "string") return [];
    const fixed = { clusterId, nodeName, serverId, expired: false };
    const entry = { ...fixed, imageSha256: null, k3sTokenSha256: null };
    return [{ ...entry, ...differs, token: new Secret(text) }];
  }

  const registries = () => ({
    mirrors: { "docker.io": { endpoint: ["https://mirror.example.com"] } },
    configs: { "mirror.example.com": { username: "conformance", password: secret("registry") } },
  });

  /** The node as one on which the token of its k3s is pinned. */
  async function pinned(entry: TokenEntry): Promise<TokenEntry> {
    const token = secret("k3s");
    const path = `/admin/clusters/${entry.clusterId}`;
    const answer = await call("PATCH", path, { bootstrap: { k3s: { token } } });
    return answer === null ? entry : { ...entry, k3sTokenSha256: hashOf(token.plain) };
  }

  return {
    async tokens() {
      const first = await Promise.all((await token("first")).map(pinned));
      const others = [...await token("second"), ...await token("expired", { expired: true })];
      const image = await token("image", { imageSha256: IMAGE });
      for (const { clusterId } of first) {
        const addon = {
          name: "external-dns",
          enabled: true,
          options: { domain: "example.com" },
          secret_options: { api_token: secret("addon") },
        };
        const desired = `/admin/clusters/${clusterId}/desired`;
        await call("PATCH", desired, { addons: [addon] });
        await call("PATCH", desired, { host: { registries: registries() } });
      }
      for (const { clusterId } of image) {
        await call("PATCH", `/admin/clusters/${clusterId}`, { expected_image_sha256: IMAGE });
      }
      return [...first, ...others, ...image];
    },
    async offer({ clusterId, nodeName }) {
      const operation = {
        kind: "s3.verify",
        node_name: nodeName,
        expires_at: FUTURE,
        params: {
          endpoint: "s3.example.com",
          bucket: "conformance",
          region: "eu-central",
          folder: "conformance",
          access_key: secret("access"),
          secret_key: secret("secret"),
        },
      };
      return await call("POST", `/admin/clusters/${clusterId}/operations`, operation) !== null;
    },
    async limit() {
      const body = { error: { code: "too_many_requests", message: "one, to see it told" } };
      const action = { status: 429, headers: { "retry-after": "1" }, body };
      return await call("POST", "/admin/faults", { match: { path: "/sync" }, action }) !== null;
    },
    revoke: async (_node, agentId) =>
      await call("POST", `/admin/agents/${agentId}/revoke`, {}) !== null,
  };
}

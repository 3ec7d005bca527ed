import { CONDITION_CODES } from "../../core/protocol/conditions.ts";
import type { JsonObject } from "../../core/json.ts";
import type { Kit, Player } from "./kit.ts";

/** A whole report of a node that works, with `changes` in place of what is there. No two are the same. */
export function reportOf(kit: Kit, player: Player, changes: JsonObject = {}): JsonObject {
  const { agentVersion, arch } = kit.options;
  player.reports++;
  return {
    protocol: 1,
    agent: {
      version: agentVersion,
      sha256: "5".repeat(64),
      arch,
      started_at: "2026-01-01T00:00:00Z",
      keys_created_at: "2026-01-01T00:00:00Z",
    },
    node: {
      name: player.entry.nodeName,
      server_id: player.entry.serverId,
      boot_id: "00000000-0000-4000-8000-000000000000",
      uptime_s: player.reports,
      os: "Debian GNU/Linux 13 (trixie)",
      kernel: "6.12.0",
      boot_entry: null,
      boot_image_sha256: player.entry.imageSha256,
      k3s: { version: null, unit: "inactive" },
      api: "down",
      ready: null,
      leader: false,
      disk_free_bytes: 10_000_000_000,
      memory_available_bytes: 1_000_000_000,
    },
    desired: { revision: null, tag: null },
    pending: { k3s_restart: false },
    addons: [],
    conditions: [],
    operation: null,
    ...changes,
  };
}

/** Reports that use, one after the other, everything that the schema allows. */
export function unusualReports(kit: Kit, player: Player): JsonObject[] {
  const plain = reportOf(kit, player);
  const agent = plain["agent"] as JsonObject;
  const node = plain["node"] as JsonObject;
  const rolledBack = {
    from: "9.9.9",
    to: kit.options.agentVersion,
    at: "2026-01-01T00:10:00Z",
    reason: "no successful sync within 10 minutes",
  };
  const since = "2026-01-01T00:00:00+02:00";
  const troubled = reportOf(kit, player, {
    agent: { ...agent, rolled_back: rolledBack },
    pending: { k3s_restart: true, reason: "50-pbx-snapshots.yaml changed" },
    addons: (["applied", "pending", "failed", "removed"] as const).map((state) => ({
      name: `conformance-${state}`,
      state,
      ...(state === "failed" ? { message: 'no such chart: ünïcode, "quotes"' } : {}),
    })),
    conditions: CONDITIONS.map((code) => ({ code, message: `${code} for a test`, since })),
    operation: { id: "pbx-conformance-op", kind: "snapshot.save", step: "save" },
  });
  const healthy = reportOf(kit, player, {
    node: {
      ...node,
      uptime_s: 4_000_000_000,
      boot_entry: "pbx-1.0.0-amd64.efi",
      k3s: { version: "v1.36.3+k3s1", unit: "active" },
      api: "up",
      ready: true,
      leader: true,
      disk_free_bytes: Number.MAX_SAFE_INTEGER,
      memory_available_bytes: 0,
    },
  });
  const units = ["failed", "activating", "unknown"].map((unit) =>
    reportOf(kit, player, { node: { ...node, ready: false, k3s: { version: null, unit } } })
  );
  return [troubled, healthy, ...units];
}

/** All but `identity_unreadable`: who has that one cannot sign a report (protocol §4). */
const CONDITIONS = CONDITION_CODES.filter((code) => code !== "identity_unreadable");

import { refusal } from "./expected.ts";
import type { Kit, Player } from "./kit.ts";
import { reportOf } from "./report_body.ts";

/** What the portal's owner has to do meanwhile: a limit that is reached, an agent that is revoked. */
export async function walkOwner(kit: Kit, player: Player): Promise<void> {
  const { hands, burst } = kit.options;
  const isLimited = await hands?.limit() === true;
  for (let sent = 0; sent < (isLimited ? 1 : burst); sent++) {
    await kit.ask(player, { path: "/sync", body: reportOf(kit, player), as: "one of many" });
  }
  if (await hands?.revoke(player.entry, player.id) !== true) return;
  const sync = { path: "/sync", body: reportOf(kit, player), as: "after it was revoked" };
  kit.expect("identity.revoked", await kit.ask(player, sync), refusal(401));
  const release = encodeURIComponent(String(kit.desired?.["release"] ?? "1.0.0"));
  const manifest = { method: "GET", path: `/releases/${release}/manifest` } as const;
  const asked = await kit.ask(player, { ...manifest, as: "after it was revoked" });
  kit.expect("identity.revoked", asked, refusal(401));
}

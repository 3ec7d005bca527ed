import type { EnrollAnswer } from "../../core/protocol/enroll.ts";
import {
  type FirstConfigFacts,
  type FirstConfigRefusal,
  judgeFirstConfig,
} from "../../core/protocol/first_config.ts";
import type { Release } from "../../core/protocol/release.ts";
import { openSealed } from "../../core/protocol/sealing.ts";
import type { Finding } from "./book.ts";
import type { Kit, Player } from "./kit.ts";
import type { RuleId } from "./rules.ts";

/**
 * What k3s gets from the answer to an enrollment, as an agent judges it beside the release that the answer
 * names: each part by itself, so that one fault hides no other.
 */
export function judgeFirstStart(
  kit: Kit,
  player: Player,
  enrolled: EnrollAnswer,
  release: Release,
): void {
  const { k3s, manifests } = enrolled;
  const opened = openSealed(k3s.token.sealed, [player.keys.sealing]);
  const facts: FirstConfigFacts = {
    nodeName: player.entry.nodeName,
    join: null,
    isJoinPinned: false,
    release,
    k3sTokenSha256: null,
    token: opened.ok ? opened.value.reveal() : "",
  };
  const empty = { ...k3s, config: {} };
  const config = judgeFirstConfig({ k3s, manifests: [] }, facts);
  tell(kit, "enroll.k3s_config", config, "what an agent gives to k3s");
  const unsigned = judgeFirstConfig({ k3s: empty, manifests }, facts);
  tell(kit, "enroll.manifests", unsigned, `what release ${release.version} signs`);
  const { k3sTokenSha256 } = player.entry;
  if (k3sTokenSha256 === null || !opened.ok) return;
  const pinned = judgeFirstConfig({ k3s: empty, manifests: [] }, { ...facts, k3sTokenSha256 });
  tell(kit, "enroll.k3s_token", pinned, "the pinned k3s token");
}

/** What an agent cannot judge either. */
export function skipFirstStart(kit: Kit, why: string): void {
  kit.book.skip("enroll.k3s_config", why);
  kit.book.skip("enroll.manifests", why);
}

function tell(
  kit: Kit,
  rule: RuleId,
  refusal: FirstConfigRefusal | null,
  expected: string,
): void {
  if (refusal === null) return kit.book.pass(rule);
  const finding: Finding = {
    sent: "POST /enroll",
    came: `${refusal.code}: ${refusal.message}`,
    expected,
  };
  kit.book.fail(rule, finding);
}

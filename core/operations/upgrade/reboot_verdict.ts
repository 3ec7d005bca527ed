/** What upgrade.json says of the boot that the reboot was asked for in. */
export type RecordEvidence =
  | { readonly kind: "whole"; readonly bootId: string; readonly uptimeSeconds: number | null }
  /** Not there, or of another operation. */
  | { readonly kind: "absent" }
  | { readonly kind: "unreadable" };

/** Everything that the node shows of the reboot into the new image. */
export interface RebootEvidence {
  /** The order was written down. It is, before systemd is told; so false means that it was not told. */
  readonly ordered: boolean;
  readonly record: RecordEvidence;
  readonly bootId: string | null;
  readonly uptimeSeconds: number | null;
  readonly fromEntry: string;
  readonly toEntry: string;
  /** The entry that booted; null where it is not known for sure. */
  readonly booted: string | null;
  /** What the boot loader is set to; null where it cannot be read. */
  readonly loader: { readonly oneShot: string | null; readonly default: string | null } | null;
}

/** What follows from it. */
export type RebootVerdict =
  | { readonly kind: "not_begun" }
  | { readonly kind: "completed"; readonly evidence: string }
  /** `mayGoDown`: nothing speaks against a shutdown that is still under way. */
  | { readonly kind: "unclear"; readonly message: string; readonly mayGoDown: boolean };

/**
 * Whether the node has rebooted for this operation, from all the evidence together:
 *
 * - The entry that booted. Before the reboot it was the old one, so another one proves a boot.
 * - The boot: another boot ID, or an uptime that is smaller than before, proves one. The same boot ID
 *   proves little: containers, restored machines and labs keep it through a reboot, and their uptime is
 *   their host's.
 * - The one-shot variable. The loader takes it away before it starts anything: still set, there was no
 *   boot; gone although it was set before the order, there was one.
 *
 * Where they contradict each other it is unclear. The step runs only where its order was never written
 * down, so that no evidence, true or false, makes it reboot the node twice.
 */
export function rebootVerdict(evidence: RebootEvidence): RebootVerdict {
  const { ordered, record, fromEntry, toEntry, booted, loader } = evidence;
  const boot = bootSince(evidence);
  const isStillSet = loader?.oneShot === toEntry;
  const wasTaken = ordered && loader !== null && loader.oneShot === null;
  const isElsewhere = booted !== null && booted !== fromEntry;

  const unclear = (mayGoDown = false): RebootVerdict => ({
    kind: "unclear",
    message: words(evidence),
    mayGoDown,
  });
  const completed: RebootVerdict = { kind: "completed", evidence: words(evidence) };

  if (loader?.default === toEntry && booted !== toEntry) return unclear();
  if (isElsewhere || boot === "other") {
    if (isStillSet) return unclear();
    return booted === toEntry || boot !== "same" ? completed : unclear();
  }
  if (!ordered) {
    const isCertain = booted === fromEntry || record.kind === "absent" || boot === "same";
    return isCertain ? { kind: "not_begun" } : unclear();
  }
  return unclear(!wasTaken);
}

/** Whether this is the boot that the record is about, as far as boot ID and uptime tell. */
function bootSince(
  { record, bootId, uptimeSeconds }: RebootEvidence,
): "same" | "other" | "unknown" {
  if (record.kind !== "whole") return "unknown";
  const { uptimeSeconds: before } = record;
  if (before !== null && uptimeSeconds !== null && uptimeSeconds < before) return "other";
  if (bootId === null) return "unknown";
  return bootId === record.bootId ? "same" : "other";
}

/** All the evidence in words. */
function words(evidence: RebootEvidence): string {
  const { ordered, record, bootId, uptimeSeconds, booted, loader } = evidence;
  const now = bootId ?? "not known";
  const boot = record.kind !== "whole"
    ? `upgrade.json is ${record.kind}`
    : `the boot ID was ${record.bootId} and is ${now}`;
  const uptime = record.kind === "whole" && record.uptimeSeconds !== null && uptimeSeconds !== null
    ? `the uptime was ${record.uptimeSeconds} s and is ${uptimeSeconds} s`
    : null;
  const set = loader === null
    ? "the boot loader's variables cannot be read"
    : `the one-shot entry is ${loader.oneShot ?? "not set"}, the default ${
      loader.default ?? "not set"
    }`;
  const order = ordered ? "the reboot was ordered" : "no reboot was ordered";
  return [
    order,
    boot,
    ...(uptime === null ? [] : [uptime]),
    booted === null ? "which image runs is not known" : `${booted} booted`,
    set,
  ].join("; ");
}

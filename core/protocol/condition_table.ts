/** What an operator needs to know of a condition. The tables of README and docs/protocol.md are made from it. */
export interface ConditionFacts {
  /** A few words, for a heading or an alert. */
  readonly title: string;
  /**
   * `error`: something that the portal or the owner wants does not happen, or the cluster is at risk.
   * `warning`: it passes by itself, or needs a look soon. `info`: a state to know about.
   */
  readonly severity: "error" | "warning" | "info";
  /** What is the case, and what the agent does about it. */
  readonly meaning: string;
  /** What ends it, and who does that. */
  readonly wayOut: string;
}

/** Every condition by its code, in the order of the tables (protocol §4). */
export const CONDITION_TABLE = {
  manifest_unavailable: {
    title: "Manifest not available",
    severity: "warning",
    meaning: "the manifest of the wanted release could not be fetched; the agent will try again",
    wayOut: "nothing, if the portal is only unreachable; otherwise it must offer the manifest",
  },
  manifest_rejected: {
    title: "Manifest rejected",
    severity: "error",
    meaning:
      "no built-in key verifies the manifest, or it is not that of the wanted release; nothing changes",
    wayOut: "the portal must offer a release that is signed with a key of this program",
  },
  invalid_desired_state: {
    title: "Invalid desired state",
    severity: "error",
    meaning:
      "the desired state breaks its schema or names what the release does not have; the last accepted one stays",
    wayOut: "correct it in the portal; the message names the member",
  },
  unsealed_secret: {
    title: "Secret in clear",
    severity: "error",
    meaning: "an answer had a secret in clear; nothing of it was used",
    wayOut: "the portal must seal it, and the secret should be replaced",
  },
  undecryptable_secret: {
    title: "Secret does not open",
    severity: "error",
    meaning: "an answer had a sealed box that no key of this agent opens; nothing of it was used",
    wayOut: "the portal must seal it to the agent's present key",
  },
  misplaced_secret: {
    title: "Secret in the wrong place",
    severity: "error",
    meaning:
      "an answer had a box whose secret is for another position, or that is not bound although it must be; " +
      "nothing of it was used",
    wayOut: "the portal must bind each box to its position; if it does, find out who answered",
  },
  approval_missing: {
    title: "Approval missing",
    severity: "warning",
    meaning: "an operation or a change of the desired state waits for the owner's approval",
    wayOut: "sign its text and offer it again with the signature (docs/approvals.md)",
  },
  approval_invalid: {
    title: "Approval invalid",
    severity: "error",
    meaning: "approvals came, and not enough of them count",
    wayOut: "the message says which one and why; sign the text again if it expired or changed",
  },
  release_older: {
    title: "Older release",
    severity: "warning",
    meaning:
      "the wanted release is older than the newest that ran; with approval keys it is not accepted",
    wayOut: "want the newest release; with `approval_keys` the owner must approve an older one",
  },
  release_expired: {
    title: "Release expired",
    severity: "error",
    meaning: "the wanted release has expired and is not accepted; what runs stays",
    wayOut: "the portal must offer a newer release",
  },
  release_below_minimum: {
    title: "Release below the minimum",
    severity: "error",
    meaning: "the wanted release is below the minimum that a signed release has set",
    wayOut: "the portal must offer a release that is not below it; no approval changes that",
  },
  registries_refused: {
    title: "Registry refused",
    severity: "error",
    meaning:
      "the portal wants images from a registry or endpoint that the release does not name; nothing of its " +
      "desired state is used",
    wayOut:
      "the message names it: a signed release must name it (`k3s.registries`), or `approval_keys` and the " +
      "owner's approval",
  },
  k3s_setting_refused: {
    title: "Setting not applied",
    severity: "warning",
    meaning:
      "a file of k3s's configuration that the agent did not write keeps a setting from being applied; it stays " +
      "as it is",
    wayOut: "remove the file that the message names, or take the setting out of the desired state",
  },
  invalid_operation: {
    title: "Invalid operation",
    severity: "error",
    meaning: "an operation came without a valid ID and was ignored",
    wayOut: "the portal must offer it with a valid ID",
  },
  report_rejected: {
    title: "Result rejected",
    severity: "warning",
    meaning: "the portal refused the result of an operation, also when it was shortened",
    wayOut:
      "read the result on the node with `pbx-agent operations`, and look into the portal's log",
  },
  already_bound: {
    title: "Bound to another node",
    severity: "error",
    meaning: "config.yaml names another cluster or node than this agent belongs to",
    wayOut: "correct config.yaml, or `uninstall --yes` first",
  },
  identity_unreadable: {
    title: "Identity unreadable",
    severity: "error",
    meaning:
      "the agent cannot read its keys. In the log and `status` only: a report could not be signed",
    wayOut: "put identity.json back, or `uninstall --yes` and enroll with a new token",
  },
  state_lost: {
    title: "State lost",
    severity: "warning",
    meaning: "state.json was unreadable and is kept aside; the agent began with an empty one",
    wayOut: "nothing: it goes once a desired state is applied as a whole",
  },
  disk_full: {
    title: "Disk full",
    severity: "error",
    meaning: "a file could not be written; what was there is intact",
    wayOut: "make room; the agent will try again in every cycle",
  },
  update_failed: {
    title: "Update failed",
    severity: "error",
    meaning: "another version of the agent is wanted and could not be installed",
    wayOut: "the message says why, and from when on the agent will try again",
  },
  rolled_back: {
    title: "Update rolled back",
    severity: "error",
    meaning: "a new version of the agent did not sync in ten minutes and was taken back",
    wayOut: "offer a version that works, or want the one that runs; it is held for six hours",
  },
  k3s_restart_pending: {
    title: "Restart of k3s pending",
    severity: "info",
    meaning: "k3s runs without a changed drop-in and will be restarted in a maintenance window",
    wayOut: "nothing, or `systemctl restart k3s` by hand",
  },
  api_down: {
    title: "Kubernetes API down",
    severity: "error",
    meaning: "the Kubernetes API of this node does not answer",
    wayOut: "`journalctl -u k3s`; if a restore is under way, wait for it",
  },
  addon_failed: {
    title: "Add-on failed",
    severity: "error",
    meaning: "at least one add-on cannot be what is wanted; it keeps its objects",
    wayOut: "what the message says; `pbx-agent plan` shows what is wanted",
  },
  clock_offset_large: {
    title: "Clock is off",
    severity: "warning",
    meaning: "the clock of this server is more than 10 s off the portal's time",
    wayOut: "let the server synchronise its clock; the agent goes by the portal's time meanwhile",
  },
  k3s_config_refused: {
    title: "k3s configuration refused",
    severity: "error",
    meaning:
      "the answer to the enrollment sets k3s what only a signed release may set; k3s is not configured",
    wayOut:
      "the portal must answer otherwise: the agent asks again; the message names key and value",
  },
  unsigned_manifest: {
    title: "Unsigned first-start manifest",
    severity: "error",
    meaning:
      "a first-start manifest is not one that the release signs, so k3s is not configured; or this program " +
      "was built without release keys and left the manifests out",
    wayOut: "the portal must send what the release signs, or install a program with release keys",
  },
  pin_mismatch: {
    title: "Pin does not match",
    severity: "error",
    meaning: "the k3s token or the cluster's CA is not the one that config.yaml pins",
    wayOut: "find out who answered; correct the pin only if it is wrong",
  },
  other_cluster: {
    title: "Another cluster",
    severity: "error",
    meaning: "k3s runs another cluster than the one this node belongs to; nothing is written",
    wayOut: "`cluster.restore` with its `kube_system_uid`, or a new server",
  },
  answer_unproven: {
    title: "Answers not proven",
    severity: "error",
    meaning: "no key in `portal_keys` proves the answers of the portal; nothing of them is used",
    wayOut:
      "find out who answers instead of the portal; after a change of its key, put the new one into " +
      "`portal_keys` and restart the agent",
  },
  not_the_portal: {
    title: "Not the portal",
    severity: "error",
    meaning: "a proxy answered 401, 403 or 407 instead of the portal",
    wayOut: "let the agent through the proxy, or take it out of the proxy variables",
  },
} as const satisfies Readonly<Record<string, ConditionFacts>>;

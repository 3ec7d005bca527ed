/**
 * Every path the agent owns or writes (operations.md, Files). Canonical: `--root DIR` is put before them
 * by the disk adapter, so the core never sees it.
 */

/** The configuration's folder. */
export const CONFIG_DIRECTORY = "/etc/pbx-agent";
/** Written by cloud-init, 0600. */
export const CONFIG_FILE = `${CONFIG_DIRECTORY}/config.yaml`;

/** The state directory, 0700. */
export const STATE_DIRECTORY = "/var/lib/pbx-agent";
/** The ID and the private keys. */
export const IDENTITY_FILE = `${STATE_DIRECTORY}/identity.json`;
/** What is learnt and under way. */
export const STATE_FILE = `${STATE_DIRECTORY}/state.json`;
/** The answer to the enrollment, secrets sealed. */
export const BOOTSTRAP_FILE = `${STATE_DIRECTORY}/bootstrap.json`;
/** The verified release manifest's envelope, kept so that a start without the portal knows its release. */
export const RELEASE_FILE = `${STATE_DIRECTORY}/release.json`;
/** One log per operation. */
export const OPERATIONS_DIRECTORY = `${STATE_DIRECTORY}/ops`;
/** Who ordered what, one JSON object a line; and the file before it. */
export const HISTORY_FILE = `${STATE_DIRECTORY}/history.jsonl`;
export const HISTORY_BEFORE_FILE = `${HISTORY_FILE}.1`;
/** Held by the one running agent. */
export const LOCK_FILE = `${STATE_DIRECTORY}/lock`;
/** Where an unreadable state.json is kept aside. */
export const STATE_ASIDE_FILE = `${STATE_DIRECTORY}/state.json.unreadable`;
/** Held (flock) by an installer until everything is in place; in memory, so that no boot inherits it. */
export const INSTALL_LOCK_FILE = "/run/pbx-agent-install.lock";
/** The program that the unit starts. */
export const PROGRAM_FILE = `${STATE_DIRECTORY}/bin/pbx-agent`;
/** The program before it, which an update that fails goes back to. */
export const PREVIOUS_PROGRAM_FILE = `${PROGRAM_FILE}.prev`;
/** The program that is being installed. */
export const NEW_PROGRAM_FILE = `${PROGRAM_FILE}.new`;
/** What a rollback has to know, and what it did; there from the arming of its timer until an end. */
export const UPDATE_FILE = `${STATE_DIRECTORY}/update.json`;

/** What an upgrade of the node's image has to know across its reboots; there from its reboot to its end. */
export const UPGRADE_FILE = `${STATE_DIRECTORY}/upgrade.json`;
/** While it is there the return timer, when it fires, restarts the node. It takes it away, so it does so once. */
export const RETURN_MARK_FILE = `${STATE_DIRECTORY}/return-armed`;

/** The agent's own unit. */
export const AGENT_UNIT = "pbx-agent.service";
/** Its file, written by cloud-init. */
export const AGENT_UNIT_FILE = `/etc/systemd/system/${AGENT_UNIT}`;
/** The units that put the previous program back when an update fails. */
export const ROLLBACK_TIMER = "pbx-agent-rollback.timer";
export const ROLLBACK_SERVICE = "pbx-agent-rollback.service";
export const ROLLBACK_UNITS = [ROLLBACK_TIMER, ROLLBACK_SERVICE] as const;
/** The units that return to the image before when an upgrade does not pass its health gate. */
export const RETURN_TIMER = "pbx-agent-return.timer";
export const RETURN_SERVICE = "pbx-agent-return.service";
export const RETURN_UNITS = [RETURN_TIMER, RETURN_SERVICE] as const;
/** Where units of the administrator live (systemd.unit(5)). */
export const SYSTEMD_DIRECTORY = "/etc/systemd/system";

/** The unit of k3s, part of the node image. */
export const K3S_UNIT = "k3s.service";
/** The k3s program. */
export const K3S_PROGRAM = "/usr/local/bin/k3s";
/** k3s's configuration, written once at the enrollment. */
export const K3S_CONFIG_FILE = "/etc/rancher/k3s/config.yaml";
/** Keeps k3s from starting while the hold file is there (a restore is under way). */
export const K3S_HOLD_DROP_IN = "/etc/systemd/system/k3s.service.d/50-pbx-hold.conf";
export const K3S_HOLD_FILE = `${STATE_DIRECTORY}/hold-k3s`;

/** What an uninstallation leaves beside the hold where k3s stays held: what happened, and how to go on. */
export const K3S_HELD_NOTE_FILE = `${STATE_DIRECTORY}/k3s-is-held.txt`;

/** Size and SHA-256 of this node's snapshots as k3s wrote them. */
export const SNAPSHOTS_FILE = `${STATE_DIRECTORY}/snapshots.json`;

/** What a restore works with: the snapshot, copies of what it could lose, its receipt. */
export const RESTORE_DIRECTORY = `${STATE_DIRECTORY}/restore`;
/** What the database was like when k3s last ran, before restores that failed one after the other. */
export const RESTORE_ORIGIN_FILE = `${STATE_DIRECTORY}/restore-origin.json`;
/** Where k3s's server keeps everything of its own. */
export const K3S_SERVER_DIRECTORY = "/var/lib/rancher/k3s/server";
/** The token that k3s's server was last started with; a restore overwrites it. */
export const K3S_TOKEN_FILE = `${K3S_SERVER_DIRECTORY}/token`;
/** Its database, and beside it those that restores moved aside. */
export const K3S_DATABASE_DIRECTORY = `${K3S_SERVER_DIRECTORY}/db`;
/** Where k3s keeps snapshots unless `etcd-snapshot-dir` says otherwise. */
export const K3S_SNAPSHOT_DIRECTORY = `${K3S_DATABASE_DIRECTORY}/snapshots`;

/** The folder of a path: everything before its last slash. */
export function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/")) || "/";
}

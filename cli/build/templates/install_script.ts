import {
  AGENT_UNIT,
  AGENT_UNIT_FILE,
  CONFIG_DIRECTORY,
  CONFIG_FILE,
  IDENTITY_FILE,
  INSTALL_LOCK_FILE,
  PROGRAM_FILE,
  STATE_DIRECTORY,
} from "../../../core/state/paths.ts";
import { UNIT } from "./unit.ts";

/** A program that the script can install. */
export interface Download {
  /** As a release names it. */
  readonly architecture: string;
  /** Name of the gzip file below the download URL. */
  readonly file: string;
  /** Lower-case hex SHA-256 of the program inside it. */
  readonly sha256: string;
}

/**
 * The script that installs the agent: cloud-init runs it at the first boot, and a person may run it on a
 * machine that exists (`ssh HOST sudo sh -s -- ... < install.sh`). It can be repeated. A machine that
 * belongs to another cluster or node is left as it is.
 */
export function installScript(version: string, downloads: readonly Download[]): string {
  const cases = downloads.map(({ architecture, file, sha256 }) =>
    `  ${MACHINES[architecture]}) file=${file} sha256=${sha256} ;;`
  );
  return `#!/bin/sh
# Installs pbx-agent ${version}, or completes an installation that was cut short.
#
#   install.sh --url URL [--config FILE]
#
# URL    https folder with the published files of this build
# FILE   the configuration to put in place; without it, the one that is there is used
set -eu
umask 077

say() { echo "pbx-agent install: $*"; }
die() { echo "pbx-agent install: $*" >&2; exit 1; }
# The value of a key of a YAML file with one plain or quoted value a line.
setting() { sed -n "s/^$2:[[:space:]]*[\\"']\\{0,1\\}\\([A-Za-z0-9-]*\\).*/\\1/p" "$1" | head -n 1; }
# The value of a text member of a JSON file.
member() { sed -n "s/.*\\"$2\\"[[:space:]]*:[[:space:]]*\\"\\([^\\"]*\\)\\".*/\\1/p" "$1" | head -n 1; }

config= url=
while [ $# -gt 0 ]; do
  case "$1" in
  --config) config=\${2:?--config needs a file}; shift 2 ;;
  --url) url=\${2:?--url needs a URL}; shift 2 ;;
  *) die "unknown argument $1" ;;
  esac
done
case "$url" in
https://* | http://127.0.0.1[:/]* | http://localhost[:/]*) ;;
*) die "--url '$url' must begin with https:// (plain http is for loopback only)" ;;
esac
[ "$(id -u)" = 0 ] || die "must run as root"
case "$(uname -m)" in
${cases.join("\n")}
*) die "this build has no program for $(uname -m)" ;;
esac
# Held until all is in place: an agent that is started meanwhile makes way (exit code 69). However this
# script ends, nothing of it stays.
exec 9> ${INSTALL_LOCK_FILE}
flock -w 300 9 || die "another installation is under way (${INSTALL_LOCK_FILE})"
wanted=\${config:-${CONFIG_FILE}}
[ -s "$wanted" ] || die "$wanted is not there or empty: name the configuration with --config"
cluster=$(setting "$wanted" cluster_id)
node=$(setting "$wanted" node_name)
[ -n "$cluster" ] && [ -n "$node" ] || die "$wanted has no cluster_id or no node_name"

# A bound machine keeps what it is: its keys and configuration are not to be had a second time.
bound=
identity=${IDENTITY_FILE}
[ -s "$identity" ] || identity=${IDENTITY_FILE}.tmp
if [ -e ${IDENTITY_FILE} ] || [ -e ${IDENTITY_FILE}.tmp ]; then
  if [ -s "$identity" ] && grep -q '"binding"[[:space:]]*:[[:space:]]*null' "$identity"; then
    say "keys are there, not enrolled yet: goes on"
  else
    bound_cluster= bound_node=
    if [ -s "$identity" ]; then
      bound_cluster=$(member "$identity" cluster_id)
      bound_node=$(member "$identity" node_name)
    fi
    [ -n "$bound_cluster" ] && [ -n "$bound_node" ] ||
      die "${IDENTITY_FILE} cannot be read: nothing was changed; put it back, or 'pbx-agent uninstall --yes' first"
    [ "$bound_cluster" = "$cluster" ] && [ "$bound_node" = "$node" ] ||
      die "this machine is node '$bound_node' of cluster '$bound_cluster', not node '$node' of cluster '$cluster': nothing was changed; 'pbx-agent uninstall --yes' first if that is meant"
    bound=yes
  fi
fi

# Puts stdin into the file $2 with mode $1, whole or not at all.
put() {
  cat > "$2.tmp"
  chmod "$1" "$2.tmp"
  sync "$2.tmp"
  mv -f "$2.tmp" "$2"
}
has_hash() { [ -f "$1" ] && echo "$sha256  $1" | sha256sum -c --status; }
fetch() {
  case "$url" in https://*) only="=https" ;; *) only="=http" ;; esac
  if command -v curl > /dev/null; then
    curl --fail --silent --show-error --location --proto "$only" --connect-timeout 20 --speed-limit 1 --speed-time 60 --output "$2" "$1"
  elif command -v wget > /dev/null; then
    wget --quiet --timeout 60 --tries 1 --output-document "$2" "$1"
  else
    die "neither curl nor wget is installed"
  fi
}

install -d -m 0700 ${CONFIG_DIRECTORY} ${STATE_DIRECTORY}
install -d -m 0755 ${PROGRAM_FILE.slice(0, PROGRAM_FILE.lastIndexOf("/"))}
program=${PROGRAM_FILE}
changed=
if has_hash "$program"; then
  say "the program is there"
elif [ -n "$bound" ] && "$program" version > /dev/null 2>&1; then
  say "keeps the program that is there: a bound agent updates itself"
else
  # Not .new: that name belongs to the agent's own updates.
  part=$program.install
  attempt=1
  until fetch "$url/$file" "$part.gz" && gzip -dc "$part.gz" > "$part"; do
    [ $attempt -lt 6 ] || die "$url/$file could not be fetched"
    say "could not fetch $url/$file, tries again"
    sleep $((attempt * 5))
    attempt=$((attempt + 1))
  done
  rm -f "$part.gz"
  if ! has_hash "$part"; then
    rm -f "$part"
    die "$url/$file is not the program of this build: SHA-256 is not $sha256"
  fi
  chmod 0755 "$part"
  said=$("$part" version 2>&1 | head -n 1) || true
  if [ "$said" != "pbx-agent ${version}" ]; then
    rm -f "$part"
    die "the program does not run on this machine: $said"
  fi
  sync "$part"
  mv -f "$part" "$program"
  changed=yes
fi

# The token of a bound agent is used; its configuration is its own.
if [ -n "$config" ] && { [ -z "$bound" ] || [ ! -s ${CONFIG_FILE} ]; }; then
  if ! cmp -s "$config" ${CONFIG_FILE}; then
    put 0600 ${CONFIG_FILE} < "$config"
    changed=yes
  fi
fi
chmod 0600 ${CONFIG_FILE}

old_unit=$(cat ${AGENT_UNIT_FILE} 2> /dev/null) || old_unit=
put 0644 ${AGENT_UNIT_FILE} << 'UNIT'
${UNIT}UNIT
other_unit=
[ "$(cat ${AGENT_UNIT_FILE})" = "$old_unit" ] || other_unit=yes
# A restart would cut short a restore that a bound agent carries out: its administrator chooses the time.
[ -n "$bound" ] || changed=$changed$other_unit
sync
exec 9>&-
systemctl daemon-reload
systemctl enable ${AGENT_UNIT}
if [ -n "$changed" ]; then systemctl restart ${AGENT_UNIT}; else systemctl start ${AGENT_UNIT}; fi
if [ -n "$other_unit" ] && [ -z "$changed" ]; then
  say "the unit is a new one, and the agent runs in the one before until it is restarted: 'systemctl restart ${AGENT_UNIT}', while no operation runs"
fi
say "pbx-agent is installed and started; see 'systemctl status ${AGENT_UNIT}' and '$program status --text'"
`;
}

/** What uname(1) calls the machines of a release. */
const MACHINES: Readonly<Record<string, string>> = {
  amd64: "x86_64 | amd64",
  arm64: "aarch64 | arm64",
};

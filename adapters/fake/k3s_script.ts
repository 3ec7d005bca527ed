/** What the stand-in puts down as a snapshot. */
export const FAKE_K3S_SNAPSHOT = "/var/lib/fake-k3s/snapshot";
/** How it calls its node in a snapshot's name. */
export const FAKE_K3S_NODE_NAME = "/var/lib/fake-k3s/node-name";
/** kube-system's UID in every fake API that has just started. */
export const FIRST_KUBE_SYSTEM_UID = "00000000-0000-4000-8000-000000000002";

/**
 * A stand-in for k3s on a machine of files: it knows its version, takes a snapshot (always the same one,
 * on the node alone), and resets its cluster, which leaves on the disk what a real reset leaves.
 */
export const FAKE_K3S_SCRIPT = `#!/bin/sh
root=\${0%/usr/local/bin/k3s}
server=$root/var/lib/rancher/k3s/server
now=$(date +%s)
case $1 in
  --version)
    echo "k3s version v1.36.3+k3s1 (866d743e)"
    echo "go version go1.26.8" ;;
  etcd-snapshot)
    file=$4-$(cat "$root${FAKE_K3S_NODE_NAME}")-$now
    mkdir -p "$server/db/snapshots" &&
      cp "$root${FAKE_K3S_SNAPSHOT}" "$server/db/snapshots/$file" &&
      echo "level=info msg=\\"Snapshot $file saved.\\"" >&2 ;;
  server)
    [ -f "\${3#--cluster-reset-restore-path=}" ] || {
      echo "level=fatal msg=\\"etcd: snapshot path does not exist\\"" >&2
      exit 1
    }
    mkdir -p "$server/db/etcd" "$server/tls"
    mv "$server/db/etcd" "$server/db/etcd-old-$now"
    mkdir -p "$server/db/etcd/member/wal"
    echo restored > "$server/db/etcd/member/wal/0.wal"
    echo fake > "$server/db/etcd/name"
    : > "$server/db/reset-flag"
    mv "$server/tls" "$server/tls-$now"
    mkdir "$server/tls"
    echo "level=error msg=\\"Shutdown request received: Managed etcd cluster membership has been reset," \\
      "restart without --cluster-reset flag now.\\"" >&2 ;;
  *)
    echo "k3s: a stand-in that does not know this" >&2
    exit 1 ;;
esac
`;

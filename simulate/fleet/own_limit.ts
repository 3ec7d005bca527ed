/** What the machine that simulates has no more of: then a connection fails that no portal ever saw. */
export type OwnLimit = "open_files" | "local_ports";

/** The limit and the way out of it, for people. */
export const OWN_LIMITS: Readonly<Record<OwnLimit, string>> = {
  open_files:
    "this process may not open more connections (ulimit -n): every agent keeps one open; " +
    "raise the limit, or simulate with more processes (--shard)",
  local_ports: "this machine has no port left for another connection to the portal " +
    '(sysctl net.ipv4.ip_local_port_range): widen it to "1024 65535", or name the portal by more ' +
    "than one address or port (--portal several times)",
};

/** The limit that opening a connection met, or null where it failed otherwise. */
export function ownLimitOf(thrown: unknown): OwnLimit | null {
  const text = thrown instanceof Error ? thrown.message : "";
  if (/\(os error (?:23|24)\)/.test(text)) return "open_files";
  return /\(os error 99\)/.test(text) ? "local_ports" : null;
}

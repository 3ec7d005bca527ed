/**
 * The path in the one form that adapters work with: absolute, no empty, `.` or `..` segments, no slash
 * at the end; or null where it cannot have that form. A path that climbs (`..`) is refused rather than
 * resolved: no caller has a use for one, and resolving it could leave the root it was meant for.
 */
export function canonicalPath(path: string): string | null {
  // What has that form already, as nearly every path does.
  if (/^\/[^/]/.test(path) && !/\/[./]|\/$|\0/.test(path)) return path;
  if (!path.startsWith("/") || path.includes("\0")) return null;
  const segments = path.split("/").filter((segment) => segment !== "");
  if (segments.some((segment) => segment === "." || segment === "..")) return null;
  return "/" + segments.join("/");
}

/** The folder that holds a canonical path; `/` holds itself. */
export function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/")) || "/";
}

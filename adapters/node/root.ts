import { resolve } from "node:path";
import { canonicalPath } from "../canonical_path.ts";

/** Puts an absolute path below the root; throws a RangeError for one that is not canonical. */
export type Root = (path: string) => string;

/**
 * What `--root DIR` does to every path of the host: `/etc/x` becomes `DIR/etc/x`, and a path that is
 * already below DIR stays as it is. Without a root (or with `/`) paths stay as they are.
 */
export function createRoot(directory?: string): Root {
  const root = directory === undefined ? "/" : resolve(directory);
  return (path) => {
    const canonical = canonicalPath(path);
    if (canonical === null) {
      throw new RangeError(
        `"${path}" is no path of the host: name it absolutely, without "." and ".." in it`,
      );
    }
    if (root === "/" || canonical === root || canonical.startsWith(root + "/")) return canonical;
    return canonical === "/" ? root : root + canonical;
  };
}

/** A file of the fake disk. */
export interface FileNode {
  readonly kind: "file";
  bytes: Uint8Array;
  /** What a power cut leaves of the bytes. */
  synced: Uint8Array;
  mode: number;
  modifiedAt: number;
}

/** A folder of the fake disk. */
export interface FolderNode {
  readonly kind: "directory";
  entries: Map<string, TreeNode>;
  /** The names that a power cut leaves. */
  synced: Map<string, TreeNode>;
  /** Folders that a rename joined to this one: syncing either makes the rename last in both. */
  readonly joined: Set<FolderNode>;
  mode: number;
  modifiedAt: number;
}

/** What a name in the fake disk stands for. */
export type TreeNode = FileNode | FolderNode;

/** An empty file whose bytes count as synced. */
export function fileNode(mode: number, modifiedAt: number): FileNode {
  return {
    kind: "file",
    bytes: new Uint8Array(0),
    synced: new Uint8Array(0),
    mode,
    modifiedAt,
  };
}

/** An empty folder. */
export function folderNode(mode: number, modifiedAt: number): FolderNode {
  return {
    kind: "directory",
    entries: new Map(),
    synced: new Map(),
    joined: new Set(),
    mode,
    modifiedAt,
  };
}

/** The names of a canonical path, from the top. */
export function segmentsOf(path: string): readonly string[] {
  return path === "/" ? [] : path.slice(1).split("/");
}

/** What is at a canonical path, or null; with `names` "synced" what a power cut leaves there in any case. */
export function find(
  root: FolderNode,
  path: string,
  names: "entries" | "synced" = "entries",
): TreeNode | null {
  let node: TreeNode = root;
  for (let at = 1; at < path.length;) {
    const slash = path.indexOf("/", at);
    const end = slash < 0 ? path.length : slash;
    const next: TreeNode | undefined = node.kind === "directory"
      ? node[names].get(path.slice(at, end))
      : undefined;
    if (next === undefined) return null;
    node = next;
    at = end + 1;
  }
  return node;
}

/** Makes the names in a folder last, and those of folders that renames joined to it. */
export function syncFolder(folder: FolderNode): void {
  const joined = [...folder.joined];
  folder.joined.clear();
  folder.synced = new Map(folder.entries);
  for (const other of joined) syncFolder(other);
}

/**
 * What a power cut leaves below a folder. Bytes that were not synced are gone. Names that were not
 * synced are gone too (`lost`: creations, renames and removals undone), or have luckily made it
 * (`kept`); a file system may do either, so a program has to live with both.
 */
export function loseUnsynced(folder: FolderNode, names: "lost" | "kept"): void {
  if (names === "lost") folder.entries = new Map(folder.synced);
  else folder.synced = new Map(folder.entries);
  folder.joined.clear();
  for (const node of folder.entries.values()) {
    if (node.kind === "directory") loseUnsynced(node, names);
    else node.bytes = node.synced;
  }
}

/** Every file below a folder as `[path, file]`, sorted by path. */
export function filesBelow(
  folder: FolderNode,
  path = "",
): readonly (readonly [string, FileNode])[] {
  const found: (readonly [string, FileNode])[] = [];
  for (const [name, node] of folder.entries) {
    const at = `${path}/${name}`;
    if (node.kind === "file") found.push([at, node]);
    else found.push(...filesBelow(node, at));
  }
  return found.sort(([a], [b]) => a < b ? -1 : 1);
}

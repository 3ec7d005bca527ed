import { delimiter, join } from "node:path";

/** What a real part is for, and how to get it. */
interface Part {
  readonly purpose: string;
  readonly howToGet: string;
}

function goProgram(module: string): string {
  return `build it: GOBIN=<folder> go install ${module}@latest`;
}

/** The programs that the suites on real parts start. */
const PARTS = {
  "k3s": {
    purpose: "the real k3s: first start, snapshots, restores",
    howToGet: "download it from https://github.com/k3s-io/k3s/releases and make it executable",
  },
  "etcd": {
    purpose: "the store of the real Kubernetes API server (3.6 or newer)",
    howToGet: `git clone https://github.com/etcd-io/etcd, then in its server folder: ` +
      `go build -o <folder>/etcd .`,
  },
  "kube-apiserver": {
    purpose: "the real Kubernetes API",
    howToGet: goProgram("k8s.io/kubernetes/cmd/kube-apiserver"),
  },
  "kube-controller-manager": {
    purpose: "garbage collection, service accounts and namespaces that really go away",
    howToGet: goProgram("k8s.io/kubernetes/cmd/kube-controller-manager"),
  },
  "versitygw": {
    purpose: "a real S3 server on a folder",
    howToGet: goProgram("github.com/versity/versitygw/cmd/versitygw"),
  },
} as const satisfies Readonly<Record<string, Part>>;

/** A program that a suite on real parts may start. */
export type PartName = keyof typeof PARTS;

/** Where to look: the folder that `PBX_LAB` names, and the folders of PATH. */
export interface PartSearch {
  readonly lab: string | undefined;
  readonly path: string | undefined;
}

/**
 * The path of a real part: in the folder named by `PBX_LAB`, else on PATH. Throws an error that says
 * which program is missing, what it is for and how to get it.
 */
export async function findPart(
  name: PartName,
  search: PartSearch = { lab: Deno.env.get("PBX_LAB"), path: Deno.env.get("PATH") },
): Promise<string> {
  const folders = [search.lab ?? "", ...(search.path ?? "").split(delimiter)];
  for (const folder of folders.filter((folder) => folder !== "")) {
    const file = join(folder, name);
    if (await isExecutable(file)) return file;
  }
  const { purpose, howToGet } = PARTS[name];
  const looked = search.lab === undefined ? "PBX_LAB is not set" : `not in PBX_LAB=${search.lab}`;
  throw new Error(
    `${name} is missing (${looked}, and not on PATH). It is needed for: ${purpose}. ` +
      `To get it, ${howToGet}. Then put it into one folder with the other parts and set PBX_LAB to it.`,
  );
}

async function isExecutable(file: string): Promise<boolean> {
  try {
    const { isFile, mode } = await Deno.stat(file);
    return isFile && ((mode ?? 0) & 0o111) !== 0;
  } catch {
    return false;
  }
}

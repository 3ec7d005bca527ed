import { parse } from "yaml";
import { pause } from "../../e2e/wait.ts";

/** Looks at documents again and again while a test goes on. */
export interface Watch {
  /** Ends the watch; throws where a document was ever seen broken, or gone after it was there. */
  end(): Promise<void>;
  /** How often all of them were looked at. */
  looks(): number;
}

const JSON_FILES = ["identity", "state", "bootstrap", "release"]
  .map((name) => `/var/lib/pbx-agent/${name}.json`);
const YAML_FILES = [
  "/etc/pbx-agent/config.yaml",
  "/etc/rancher/k3s/config.yaml",
  "/etc/rancher/k3s/config.yaml.d/50-pbx-snapshots.yaml",
  "/etc/rancher/k3s/config.yaml.d/50-pbx-ingress.yaml",
];

/** Every document of the agent below `root` has to be whole at any time. */
export function watchDocuments(root: string): Watch {
  const seen = new Set<string>();
  const broken: string[] = [];
  let ended = false;
  let count = 0;

  async function look(path: string, read: (text: string) => unknown): Promise<void> {
    let text: string;
    try {
      text = await Deno.readTextFile(root + path);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
      if (seen.has(path)) broken.push(`${path} is gone`);
      return;
    }
    seen.add(path);
    try {
      if (text === "") throw new Error("it is empty");
      read(text);
    } catch (error) {
      broken.push(`${path}: ${String(error)}`);
    }
  }

  async function watch(): Promise<void> {
    while (!ended) {
      for (const path of JSON_FILES) await look(path, JSON.parse);
      for (const path of YAML_FILES) await look(path, (text) => parse(text));
      count++;
      await pause(5);
    }
  }
  const watching = watch();

  return {
    looks: () => count,
    async end() {
      ended = true;
      await watching;
      if (broken.length > 0) throw new Error([...new Set(broken)].slice(0, 10).join("\n"));
    },
  };
}

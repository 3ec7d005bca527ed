import { tmpdir } from "node:os";
import { join } from "node:path";

/** The folder for what the lab builds once: `PBX_LAB_CACHE`, else one below the temporary folder. */
export async function cacheDirectory(): Promise<string> {
  const directory = Deno.env.get("PBX_LAB_CACHE") || join(tmpdir(), "pbx-lab-cache");
  await Deno.mkdir(directory, { recursive: true, mode: 0o755 });
  return directory;
}

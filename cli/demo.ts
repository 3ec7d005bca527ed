/**
 * `deno task demo`: the agent's life on one screen. It starts the fake portal and the agent as processes
 * of their own on a machine of files below a temporary folder, and shows what they do to each other.
 */
import { startFakeNode } from "../adapters/fake/fake_node.ts";
import { print } from "./print.ts";
import { startProcess } from "./demo/process.ts";
import { runSteps } from "./demo/steps.ts";
import { openStory } from "./demo/story.ts";

async function main(): Promise<number> {
  const root = await Deno.makeTempDir({ prefix: "pbx-demo-" });
  const story = openStory((text) => print("stdout", text));
  const portal = startProcess(["cli/portal.ts"]);
  try {
    const welcome = JSON.parse(await portal.firstLine());
    const node = await startFakeNode({
      root,
      nodeName: welcome.node,
      configYaml: `# written by cloud-init\n${welcome.config_yaml}`,
    });
    try {
      await runSteps({ story, node, portal: welcome });
    } finally {
      await node.stop();
    }
    story.end();
    return 0;
  } catch (error) {
    story.failed(error instanceof Error ? error.message : String(error));
    return 1;
  } finally {
    await portal.end("SIGTERM");
    await Deno.remove(root, { recursive: true });
  }
}

if (import.meta.main) Deno.exit(await main());

import assert from "node:assert/strict";
import { parse } from "yaml";
import { installScript } from "../../cli/build/templates/install_script.ts";
import { PLACEHOLDERS, userData } from "../../cli/build/templates/user_data.ts";
import { parseConfig } from "../../core/state/config.ts";
import { onPath, runCommand } from "../lab/command.ts";

const SCRIPT = installScript("1.2.3", [
  { architecture: "amd64", file: "a.gz", sha256: "a".repeat(64) },
]);
const TEXT = userData(SCRIPT, PLACEHOLDERS.downloadUrl);
const STAGING = "/run/pbx-agent-install";

interface UserData {
  readonly bootcmd: readonly (readonly string[])[];
  readonly write_files: readonly {
    readonly path: string;
    readonly permissions: string;
    readonly content: string;
  }[];
  readonly runcmd: readonly (readonly string[])[];
}

/** The user-data with values in the place of its placeholders, as a portal fills it. */
function filled(): UserData {
  const values = { portal: "example.com", clusterId: "c1", nodeName: "n1", enrollmentToken: "t" };
  let text = TEXT;
  for (const [name, value] of Object.entries({ ...values, downloadUrl: "https://dl.example" })) {
    text = text.replaceAll(PLACEHOLDERS[name as keyof typeof PLACEHOLDERS], value);
  }
  assert.doesNotMatch(text, /@[A-Z_]+@/);
  return parse(text);
}

Deno.test("user-data: the folder is private before a file is written into it", () => {
  assert.ok(TEXT.startsWith("#cloud-config\n"));
  const { bootcmd, write_files } = filled();
  assert.deepEqual(bootcmd, [["install", "-d", "-m", "0700", STAGING]]);
  const modes = write_files.map(({ path, permissions }) => [path, permissions]);
  assert.deepEqual(modes, [[`${STAGING}/config.yaml`, "0600"], [`${STAGING}/install.sh`, "0700"]]);
});

Deno.test("user-data: carries the configuration that the agent reads, and the script as it is", () => {
  const [config, script] = filled().write_files;
  const parsed = parseConfig(config?.content ?? "");
  assert.ok(parsed.ok);
  assert.equal(parsed.value.portal, "https://agents.example.com/agent/v1");
  assert.equal(script?.content, SCRIPT);
});

Deno.test("user-data: pins the portal's keys where the build was given some", () => {
  const key = "JrQLj5P/89iXES9+vFgrIy29clF9CC/oPPsw3c5D0bs=";
  const text = userData(SCRIPT, "https://dl.example", [key])
    .replaceAll(/@[A-Z_]+@/g, "placeholder");
  const [config, script] = (parse(text) as UserData).write_files;
  const parsed = parseConfig(config?.content ?? "");
  assert.ok(parsed.ok, parsed.ok ? "" : parsed.error);
  assert.equal(parsed.value.trust.portalKeys.length, 1);
  assert.match(script?.path ?? "", /install\.sh$/);
});

Deno.test("user-data: runs the script with the configuration and the download URL", () => {
  const script = ["sh", `${STAGING}/install.sh`, "--config", `${STAGING}/config.yaml`];
  assert.deepEqual(filled().runcmd, [[...script, "--url", "https://dl.example"]]);
});

Deno.test("user-data: fits into what a server may be given", () => {
  assert.ok(TEXT.length < 32 * 1024, `${TEXT.length} bytes`);
});

Deno.test({
  name: "user-data: cloud-init finds no fault in it",
  ignore: !await onPath("cloud-init"),
  fn: async () => {
    const path = await Deno.makeTempFile({ suffix: ".yaml" });
    try {
      await Deno.writeTextFile(path, TEXT);
      const checked = await runCommand("cloud-init", ["schema", "-c", path, "--annotate"]);
      assert.equal(checked.code, 0, checked.stdout + checked.stderr);
    } finally {
      await Deno.remove(path);
    }
  },
});

import assert from "node:assert/strict";
import { parseLog, runProgram } from "./program.ts";
import { treeOf } from "./tree.ts";
import { each } from "./wait.ts";
import { inWorld, type World } from "./world.ts";

/** What nobody asks for: each must be told, with the usage, and do nothing. */
const NONSENSE: readonly [readonly string[], RegExp][] = [
  [[], /no command/],
  [["start"], /'start'/],
  [["run", "now"], /'now'/],
  [["run", "--yes"], /--yes/],
  [["run", "--cycle", "1"], /--cycle/],
  [["run", "--release-keys", "AAAA"], /--release-keys/],
  [["run", "--root", ""], /--root/],
];

Deno.test("program: what it does not understand is told with the usage, and ends with 2", async () => {
  await each(NONSENSE, async ([args, words]) => {
    const { code, stdout, stderr } = await runProgram("cli/main.ts", args);
    assert.equal(code, 2, args.join(" "));
    assert.equal(stdout, "");
    assert.match(stderr.split("\n")[0] ?? "", words);
    assert.match(stderr, /^usage: pbx-agent/m);
  });
});

Deno.test("program: the lab's --cycle takes a number only", async () => {
  const { code, stderr } = await runProgram("cli/lab.ts", ["run", "--cycle", "soon"]);
  assert.equal(code, 2);
  assert.match(stderr, /--cycle soon/);
});

Deno.test("program: help is no error, and names every command", async () => {
  for (const args of [["help"], ["run", "-h"]]) {
    const { code, stdout, stderr } = await runProgram("cli/main.ts", args);
    assert.deepEqual([code, stderr], [0, ""]);
    for (const command of ["run", "status", "plan", "version", "uninstall"]) {
      assert.match(stdout, new RegExp(`^  ${command}\\b`, "m"));
    }
  }
});

const CONFIG = "/etc/pbx-agent/config.yaml";

/** A change of the configuration, and what the message about it must say: which key, what, the way out. */
const FAULTS: readonly [
  string,
  (yaml: string) => string | null,
  readonly RegExp[],
][] = [
  ["no file at all", () => null, [/config\.yaml/, /cloud-init/]],
  ["no YAML", () => "portal: [", [/config\.yaml/, /YAML/]],
  ["no portal", (yaml) => yaml.replace(/^portal: .*\n/m, ""), [/'portal'/, /missing/]],
  ["a portal that is none", set("portal", "what ever"), [/'portal'/, /what ever/, /https:\/\//]],
  [
    "plain http to somewhere else",
    set("portal", "http://portal.example.com/agent/v1"),
    [/'portal'/, /http:\/\/portal\.example\.com/, /use https/],
  ],
  [
    "a portal elsewhere, for the lab's program",
    set("portal", "https://portal.example.com/agent/v1"),
    [/'portal'/, /portal\.example\.com/, /loopback/, /shipped program/],
  ],
  ["a cluster that is none", set("cluster_id", "Demo_1"), [/'cluster_id'/, /Demo_1/, /DNS-1123/]],
  ["metadata elsewhere", set("metadata_url", "http://10.0.0.1"), [
    /'metadata_url'/,
    /10\.0\.0\.1/,
    /loopback/,
  ]],
  ["two faults", (yaml) => set("cluster_id", "A")(set("node_name", "B")(yaml)), [
    /'cluster_id'/,
    /'node_name'/,
  ]],
  ["a CA file by a relative path", set("ca_file", "ca.pem"), [/'ca_file'/, /ca\.pem/, /absolute/]],
  ["a CA file that is not there", set("ca_file", "/etc/ca.pem"), [
    /'ca_file'/,
    /\/etc\/ca\.pem/,
    /not there/,
  ]],
];

function set(key: string, value: string): (yaml: string) => string {
  return (yaml) => `${yaml.replace(new RegExp(`^${key}: .*\\n`, "m"), "")}${key}: ${value}\n`;
}

/** Files that hold no certificate. */
const NO_CERTIFICATES: Readonly<Record<string, string>> = {
  "empty": "",
  "text": "there is no certificate in here\n",
  "half a certificate": "-----BEGIN CERTIFICATE-----\nMIIB\n",
  "a certificate of nonsense": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
};

/** Every configuration that cannot be used: what it is, how to lay it out, what must be said. */
const UNUSABLE: readonly (readonly [string, (world: World) => Promise<void>, readonly RegExp[]])[] =
  [
    ...FAULTS.map(([what, change, words]) =>
      [what, async (world: World) => {
        const text = change(world.configYaml);
        await Deno.remove(world.root + CONFIG);
        if (text !== null) await world.write(CONFIG, text);
      }, words] as const
    ),
    ...Object.entries(NO_CERTIFICATES).map(([what, text]) =>
      [`a CA file, ${what}`, async (world: World) => {
        await world.write(CONFIG, set("ca_file", "/etc/ca.pem")(world.configYaml));
        await world.write("/etc/ca.pem", text);
      }, [/'ca_file'/, /\/etc\/ca\.pem/, /certificate/]] as const
    ),
  ];

Deno.test("run: a configuration it cannot use ends it with 78, one clear line, and nothing done", async () => {
  await each(UNUSABLE, async ([what, layOut, words]) => {
    await inWorld(async (world) => {
      await layOut(world);
      const before = await treeOf(world.root);
      const { code, stderr } = await world.cli("run");
      assert.equal(code, 78, `${what}: ${stderr}`);
      const [line, ...rest] = parseLog(stderr);
      assert.deepEqual(rest, [], what);
      assert.equal(line?.level, "error");
      for (const word of words) assert.match(line?.message ?? "", word, what);
      assert.ok(!stderr.includes(world.token), `${what}: the token is told`);
      assert.equal(await treeOf(world.root), before, what);
      assert.deepEqual(world.requests(), []);
    });
  });
});

Deno.test("run: a setting that it does not know is told, and does no harm", async () => {
  await inWorld(async (world) => {
    const agent = await world.startSynced();
    const line = agent.lines().find(({ event }) => event === "unknown_setting");
    assert.match(line?.message ?? "", /'colour'/);
    await agent.stop();
  }, { config: (yaml) => `${yaml}colour: blue\n` });
});

import assert from "node:assert/strict";
import fc from "fast-check";
import { parse } from "yaml";
import {
  isOwnRegistries,
  REGISTRIES_PATH,
  registriesDeed,
  type RegistriesFacts,
  registriesFile,
} from "../../../core/host/registries.ts";
import type { Registries } from "../../../core/protocol/registries.ts";
import { fail, ok } from "../../../core/result.ts";
import { Secret } from "../../../core/secret.ts";

/** A box is its own secret here. */
function contentOf(registries: Registries): string {
  const file = registriesFile(registries, (box) => ok(new Secret(box)));
  assert.ok(file.ok);
  assert.equal(file.value.reveal().path, REGISTRIES_PATH);
  assert.doesNotMatch(JSON.stringify(file), /mirrors|configs/);
  return file.value.reveal().content;
}

const REGISTRIES: Registries = {
  mirrors: {
    "docker.io": { endpoint: ["https://mirror.example.com", "http://10.0.0.7:5000/v2/hub"] },
    "*": { endpoint: [] },
  },
  configs: {
    "mirror.example.com": { username: "ada", password: { sealed: "pa55: #word" } },
    "10.0.0.7:5000": { identity_token: { sealed: "0755" } },
  },
};

Deno.test("registriesFile: the form that k3s reads, marked as the agent's", () => {
  assert.equal(
    contentOf(REGISTRIES),
    `# Managed by pbx-agent. Changes made here are overwritten; change it in the portal.

mirrors:
  "*":
    endpoint: []
  "docker.io":
    endpoint:
      - "https://mirror.example.com"
      - "http://10.0.0.7:5000/v2/hub"
configs:
  "10.0.0.7:5000":
    auth:
      identity_token: "0755"
  "mirror.example.com":
    auth:
      username: "ada"
      password: "pa55: #word"
`,
  );
  assert.ok(isOwnRegistries(contentOf({})));
});

Deno.test("registriesFile: every text arrives as it is, for readers of YAML 1.1 and 1.2; order is no change", () => {
  const host = fc.constantFrom("docker.io", "on", "1:30", "12e3", "null", "*", "[fd00::1]:5000");
  const text = fc.oneof(
    fc.string({ unit: "binary", maxLength: 40 }),
    fc.constantFrom("0x1f", "yes", "~", "\u2028", "\u0085a", "a\tb\nc", "", " x ", "{{", "&a *a"),
  );
  const box = fc.record({ sealed: text });
  fc.assert(
    fc.property(
      fc.record({
        mirrors: fc.dictionary(host, fc.record({ endpoint: fc.array(text) }), {
          noNullPrototype: true,
        }),
        configs: fc.dictionary(
          host,
          fc.record({ username: text, password: box, identity_token: box }, { requiredKeys: [] }),
          { noNullPrototype: true },
        ),
      }),
      (registries) => {
        const content = contentOf(registries);
        const configs = Object.entries(registries.configs).map(([name, one]) => [name, {
          auth: Object.fromEntries(
            Object.entries(one).map(([key, value]) => [
              key,
              typeof value === "string" ? value : value.sealed,
            ]),
          ),
        }]);
        const wanted = { mirrors: registries.mirrors, configs: Object.fromEntries(configs) };
        for (const version of ["1.1", "1.2"] as const) {
          assert.deepEqual(parse(content, { version }), JSON.parse(JSON.stringify(wanted)));
        }
        const turned = (map: object) => Object.fromEntries(Object.entries(map).toReversed());
        const other = { mirrors: turned(registries.mirrors), configs: turned(registries.configs) };
        assert.equal(contentOf(other as Registries), content);
      },
    ),
    { seed: 20260401, numRuns: 300 },
  );
});

Deno.test("registriesFile: a box that does not open makes no file, and its host is named", () => {
  const file = registriesFile(REGISTRIES, () => fail({ message: "opens with none of the keys" }));
  assert.deepEqual(file, {
    ok: false,
    error: "host.registries.configs.10.0.0.7:5000.identity_token: opens with none of the keys",
  });
});

Deno.test("registriesDeed: the agent's own file is kept as wanted, a person's stays as it is", () => {
  const own = contentOf(REGISTRIES);
  const other = contentOf({});
  const foreign = "mirrors: {}\n";
  const rows: [RegistriesFacts["wanted"], RegistriesFacts["found"], boolean, string][] = [
    [null, null, false, "nothing"],
    [own, null, false, "write"],
    [own, own, false, "nothing"],
    [own, other, false, "write"],
    [own, `${own}# by hand\n`, false, "write"],
    [null, own, false, "remove"],
    [null, foreign, false, "nothing"],
    [own, foreign, false, "keep"],
    [own, "", false, "keep"],
    // k3s ran with the agent's: that was written over by hand, as a drop-in may be.
    [own, foreign, true, "write"],
    [null, foreign, true, "nothing"],
  ];
  for (const [wanted, found, wasOwn, deed] of rows) {
    assert.equal(registriesDeed({ wanted, found, wasOwn }), deed, JSON.stringify([wanted, found]));
  }
});

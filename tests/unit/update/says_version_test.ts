import assert from "node:assert/strict";
import { readSaidVersion } from "../../../core/update/says_version.ts";

const ID = "0123456789abcdef";

Deno.test("readSaidVersion: the version must be the wanted one, the keys may be any", () => {
  for (
    const [keys, ids] of [["none", []], [ID, [ID]], [`${ID} ${ID}`, [ID, ID]]] as const
  ) {
    assert.deepEqual(readSaidVersion(`pbx-agent 1.2.3\nrelease keys: ${keys}\n`, "1.2.3"), {
      ok: true,
      value: { version: "1.2.3", keyIds: ids },
    });
  }
});

Deno.test("readSaidVersion: anything else is refused in words that quote little of it", () => {
  for (
    const output of [
      "",
      "pbx-agent 1.2.4\nrelease keys: none\n",
      "pbx-agent 1.2.3\n",
      "pbx-agent 1.2.3\r\nrelease keys: none\n",
      " pbx-agent 1.2.3\nrelease keys: none\n",
      "pbx-agent 1.2.3 \nrelease keys: none\n",
      `pbx-agent 1.2.3\nrelease keys: ${ID.toUpperCase()}\n`,
      `pbx-agent 1.2.3\nrelease keys: ${ID},${ID}\n`,
      "release keys: none\npbx-agent 1.2.3\n",
      `${"x".repeat(10_000)}\n`,
    ]
  ) {
    const said = readSaidVersion(output, "1.2.3");
    assert.ok(!said.ok, JSON.stringify(output));
    assert.ok(said.error.length < 150, said.error);
  }
});

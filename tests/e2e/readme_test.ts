import assert from "node:assert/strict";
import { EXIT } from "../../cli/exit_codes.ts";

/** A file of the repository. */
function read(name: string): Promise<string> {
  return Deno.readTextFile(new URL(`../../${name}`, import.meta.url));
}

Deno.test("README: every command that it shows is a task that there is", async () => {
  const text = await read("README.md");
  const shown = commandsIn(text);
  const tasks = Object.keys(JSON.parse(await read("deno.json")).tasks);
  assert.ok(shown.length > 0, "it shows some");
  for (const { line, words } of shown) {
    const [npx, yes, deno = "", verb, task = ""] = words;
    assert.deepEqual([npx, yes, verb], ["npx", "-y", "task"], line);
    assert.match(deno, /^deno@[0-9]+\.[0-9]+\.[0-9]+$/, line);
    assert.ok(tasks.includes(task), `${line}: there is no task ${task}`);
  }
  const named = shown.map(({ words }) => words[4]);
  for (const task of ["demo", "test"]) assert.ok(named.includes(task), `it shows ${task}`);
});

Deno.test("README: its table of exit codes is the program's", async () => {
  const text = await read("README.md");
  const table = /^\| exit code[^]*?\n\n/m.exec(text)?.[0] ?? "";
  const shown = [...table.matchAll(/^\| ([0-9]+) /gm)].map((match) => Number(match[1]));
  assert.deepEqual(shown, Object.values(EXIT));
});

/** The commands in fenced blocks of shell that start Deno by way of Node.js. */
function commandsIn(markdown: string): { line: string; words: string[] }[] {
  const blocks = markdown.matchAll(/^```sh\n([^]*?)^```$/gm);
  return [...blocks].flatMap(([, block = ""]) => block.split("\n"))
    .map((line) => line.trim())
    .filter((line) => line.startsWith("npx -y deno"))
    .map((line) => ({ line, words: line.split(/\s+/) }));
}

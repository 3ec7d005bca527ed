import assert from "node:assert/strict";
import { RULES } from "../../simulate/conformance/rules.ts";
import { brokenCitations, commentsOf, type Pages, titlesOf } from "./citations.ts";
import { filesBelow, REPOSITORY, sourceFiles } from "./source_files.ts";

const read = (path: string) => Deno.readTextFile(`${REPOSITORY}${path}`);

async function readPages(): Promise<Pages> {
  const pages = new Map<string, readonly string[]>();
  for (const path of await filesBelow(REPOSITORY)) {
    if (!path.endsWith(".md")) continue;
    const name = path.startsWith("docs/") ? path.slice("docs/".length) : path;
    pages.set(name, titlesOf(await read(path)));
  }
  return pages;
}

Deno.test("citations: every page and section that a comment cites is in the repository", async () => {
  const pages = await readPages();
  const broken: string[] = [];
  for (const path of await sourceFiles(REPOSITORY)) {
    if (path.startsWith("tests/architecture/citations")) continue;
    for (const comment of commentsOf(await read(path))) {
      broken.push(...brokenCitations(comment, pages).map((cited) => `${path}: ${cited}`));
    }
  }
  assert.deepEqual(broken, []);
});

Deno.test("citations: the section of every conformance rule is in docs/protocol.md", async () => {
  const titles = (await readPages()).get("protocol.md") ?? [];
  for (const [id, { paragraph }] of Object.entries(RULES)) {
    const start = `${paragraph.slice("§".length)}. `;
    assert.ok(titles.some((title) => title.startsWith(start)), `${id} cites ${paragraph}`);
  }
});

Deno.test("citations: every link between pages leads to a file, and to a heading in it", async () => {
  const broken: string[] = [];
  for (const path of await filesBelow(REPOSITORY)) {
    if (!path.endsWith(".md")) continue;
    const prose = (await read(path)).replace(/^```[\s\S]*?^```$/gm, "").replace(/`[^`\n]*`/g, "");
    for (const [, target = ""] of prose.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(target)) continue;
      const { pathname, hash } = new URL(target, `file:///${path}`);
      const file = decodeURIComponent(pathname.slice(1));
      const there = await Deno.stat(`${REPOSITORY}${file}`).catch(() => null);
      if (there === null) broken.push(`${path}: ${target}`);
      else if (hash !== "" && !anchorsOf(await read(file)).includes(hash.slice(1))) {
        broken.push(`${path}: ${target} has no such heading`);
      }
    }
  }
  assert.deepEqual(broken, []);
});

function anchorsOf(page: string): readonly string[] {
  return titlesOf(page).map((title) =>
    title.toLowerCase().replace(/[^\w -]/g, "").replaceAll(" ", "-")
  );
}

Deno.test("citations: what a comment cites is found in each of its forms", () => {
  const pages: Pages = new Map([
    ["protocol.md", ["1. Transport", "4. Sync"]],
    ["trust.md", ["T1. Bound boxes"]],
    ["operations.md", ["First start", "Files"]],
    ["facts/k3s.md", ["A. Configuration"]],
    ["facts/boot.md", ["Entry ids"]],
  ]);
  const cited = (comment: string) => brokenCitations(comment, pages);
  const good =
    "as protocol §1 and §4, trust.md T1, (operations.md, First start, step 5), docs/trust.md, " +
    "k3s fact A, (boot facts, Entry ids), boot facts; RFC 9110 §5.6.7";
  assert.deepEqual(cited(good), []);
  assert.deepEqual(cited("protocol §1, §7"), ["protocol §7"]);
  assert.deepEqual(cited("trust.md T9"), ["trust.md T9"]);
  assert.deepEqual(cited("operations.md, Own updates"), ["operations.md, Own updates"]);
  assert.deepEqual(cited("see models.md"), ["models.md"]);
  assert.deepEqual(cited("k3s facts A and Q"), ["facts/k3s.md Q"]);
  assert.deepEqual(cited("boot facts, Elsewhere"), ["facts/boot.md, Elsewhere"]);
  assert.deepEqual(cited("kubernetes facts"), ["facts/kubernetes.md"]);
});

Deno.test("citations: comments are read over their lines, and strings are not comments", () => {
  const source = '/** One\n * of two. */\n  // and (protocol\n  // §3)\nconst x = "// see a.md";\n';
  assert.deepEqual(commentsOf(source), ["One of two.", "and (protocol §3)"]);
});

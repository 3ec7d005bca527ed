/** The pages that comments may cite, by what a comment calls them; each with the titles of its sections. */
export type Pages = ReadonlyMap<string, readonly string[]>;

/** The titles of a page's sections, in order. Lines of code blocks are none. */
export function titlesOf(page: string): readonly string[] {
  const prose = page.replace(/^```[\s\S]*?^```$/gm, "");
  return [...prose.matchAll(/^#{1,6} (.+)$/gm)].map(([, title = ""]) => title.replaceAll("`", ""));
}

/** The comments of a source file, each as one line of text. */
export function commentsOf(source: string): readonly string[] {
  const blocks = [...source.matchAll(/^[ \t]*\/\*\*?([\s\S]*?)\*\//gm)].map(([, text = ""]) =>
    text
  );
  const lines = [...source.matchAll(/(?:^[ \t]*\/\/.*\n)+/gm)].map(([text]) =>
    text.replaceAll("//", "")
  );
  return [...blocks, ...lines].map((text) => text.replace(/\s*\n\s*\*?\s*/g, " ").trim());
}

/**
 * What is cited in a comment and is not in the repository. Citations have one of these forms:
 * `protocol §4` (a numbered section of protocol.md), `trust.md T3`, `operations.md, First start` (a page and
 * the title of a section), `k3s fact C` (a lettered section of facts/k3s.md), `boot facts, Entry ids`.
 */
export function brokenCitations(comment: string, pages: Pages): readonly string[] {
  const broken: string[] = [];
  const has = (page: string, isMeant: (title: string) => boolean) =>
    (pages.get(page) ?? []).some(isMeant);

  for (const [cited] of comment.matchAll(/\bprotocol(?: §\d+(?:,| and| to)?)+/g)) {
    for (const [, number] of cited.matchAll(/§(\d+)/g)) {
      if (!has("protocol.md", (title) => title.startsWith(`${number}. `))) {
        broken.push(`protocol §${number}`);
      }
    }
  }
  for (const match of comment.matchAll(/(?<![\w/.-])((?:docs\/)?[\w-]+\.md)\b/g)) {
    const page = (match[1] ?? "").replace(/^docs\//, "");
    const rest = comment.slice(match.index + match[0].length);
    if (!pages.has(page)) broken.push(page);
    else broken.push(...brokenSection(page, rest, has));
  }
  for (const match of comment.matchAll(/\b(k3s|boot|kubernetes|runtime) facts?\b/g)) {
    const page = `facts/${match[1]}.md`;
    const rest = comment.slice(match.index + match[0].length);
    const [, letters = ""] = /^ ([A-Z](?:(?:, | and )[A-Z])*)\b/.exec(rest) ?? [];
    if (!pages.has(page)) broken.push(page);
    else broken.push(...brokenSection(page, rest, has));
    for (const letter of letters.match(/[A-Z]/g) ?? []) {
      if (!has(page, (title) => title.startsWith(`${letter}. `))) broken.push(`${page} ${letter}`);
    }
  }
  return broken;
}

/** `page, Title ...` and `page T3`: what follows must begin with the title of a section. */
function brokenSection(
  page: string,
  rest: string,
  has: (page: string, isMeant: (title: string) => boolean) => boolean,
): readonly string[] {
  const [, number] = /^,? (T\d+)\b/.exec(rest) ?? [];
  if (number !== undefined) {
    return has(page, (title) => title.startsWith(`${number}. `)) ? [] : [`${page} ${number}`];
  }
  const [, named] = /^(?:, | \()([A-Z][\w -]*|health_gate)/.exec(rest) ?? [];
  if (named === undefined) return [];
  return has(page, (title) => named.startsWith(title)) ? [] : [`${page}, ${named}`];
}

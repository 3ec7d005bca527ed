/** One line of the drawing: rooms that match `from` may import what matches one of `to`. */
export type Edge = { readonly from: RegExp; readonly to: readonly RegExp[] };

/**
 * Reads the fenced `edges` block of ARCHITECTURE.md, so that the drawing and the rule are one text.
 * Throws on a line that it cannot read: a rule that is skipped in silence protects nothing.
 */
export function parseEdges(markdown: string): readonly Edge[] {
  const block = /^```edges\n(?<lines>.*?)^```$/ms.exec(markdown)?.groups?.["lines"];
  if (block === undefined) throw new Error("ARCHITECTURE.md has no block ```edges");
  return block.trimEnd().split("\n").map((line) => {
    const [from, to, ...more] = line.split("->").map((side) => side.trim());
    if (!from || !to || more.length > 0) throw new Error(`not an edge "A -> B C": ${line}`);
    return { from: pattern(from), to: to.split(/\s+/).map(pattern) };
  });
}

/** Whether `room` may import `target`, both as {@link roomOf} and {@link targetOf} name them. */
export function isDrawn(edges: readonly Edge[], room: string, target: string): boolean {
  return room === target ||
    edges.some(({ from, to }) => from.test(room) && to.some((each) => each.test(target)));
}

/**
 * The room that a path of the repository belongs to: `core/state/mod.ts` is in `core/state`,
 * `core/json.ts` in `core/(root)`, everything below `cli/` in `cli`.
 */
export function roomOf(path: string): string {
  const [top = "", second = "", ...rest] = path.split("/");
  if (top !== "core" && top !== "adapters") return top;
  return `${top}/${rest.length > 0 ? second : "(root)"}`;
}

function pattern(text: string): RegExp {
  const isTypeOnly = text.startsWith("type:");
  const name = (isTypeOnly ? text.slice("type:".length) : text)
    .split("*").map((part) => part.replaceAll(/[.()+?^$|[\]{}\\]/g, "\\$&")).join(".+");
  return new RegExp(`^${isTypeOnly ? "type:" : "(type:)?"}${name}$`);
}

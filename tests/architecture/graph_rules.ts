import { type Edge, isDrawn, roomOf } from "./edges.ts";
import type { Import } from "./module_graph.ts";

/** The imports that ARCHITECTURE.md does not draw, one sentence each. */
export function undrawnImports(edges: readonly Edge[], imports: readonly Import[]): string[] {
  return imports.flatMap(({ file, target, isTypeOnly }) => {
    const isInside = !/^(npm|node|https?|jsr|data|file):/.test(target);
    const place = isInside ? roomOf(target) : target;
    const room = roomOf(file);
    if (isDrawn(edges, room, room === place || !isTypeOnly ? place : `type:${place}`)) return [];
    const what = isTypeOnly ? "types of " : "";
    return [`${file} imports ${what}${target}: ARCHITECTURE.md draws no edge ${room} -> ${place}`];
  });
}

/**
 * The import cycles between files, each once, as `a.ts -> b.ts -> a.ts`. Cycles of types count:
 * two files that cannot be read one after the other are one file.
 */
export function importCycles(imports: readonly Import[]): string[] {
  const next = Map.groupBy(imports, ({ file }) => file);
  const done = new Set<string>();
  const cycles: string[] = [];
  const visit = (file: string, trail: readonly string[]): void => {
    const start = trail.indexOf(file);
    if (start !== -1) cycles.push([...trail.slice(start), file].join(" -> "));
    if (start !== -1 || done.has(file)) return;
    for (const { target } of next.get(file) ?? []) visit(target, [...trail, file]);
    done.add(file);
  };
  for (const file of next.keys()) visit(file, []);
  return cycles;
}

/** Every file and library that `entry` reaches in any number of steps, itself included. */
export function reachable(imports: readonly Import[], entry: string): ReadonlySet<string> {
  const reached = new Set([entry]);
  // A set hands out what is added to it while it is walked.
  for (const file of reached) {
    for (const each of imports) if (each.file === file) reached.add(each.target);
  }
  return reached;
}

import type { AddonTemplate } from "../protocol/release.ts";

/** The templates of a release by name. */
export type Templates = Readonly<Record<string, AddonTemplate>>;

/** What an add-on requires directly, each once, sorted. */
export function requirementsOf(name: string, templates: Templates): readonly string[] {
  return [...new Set(templateOf(name, templates)?.requires ?? [])].sort();
}

/** The template of an add-on; null where the release has none. */
export function templateOf(name: string, templates: Templates): AddonTemplate | null {
  return Object.hasOwn(templates, name) ? templates[name] ?? null : null;
}

/** Add-ons that cannot be on beside `name`, whichever of the two says so; sorted. */
export function conflictsOf(name: string, templates: Templates): readonly string[] {
  const own = templateOf(name, templates)?.conflicts ?? [];
  const others = Object.keys(templates).filter((other) =>
    templateOf(other, templates)?.conflicts?.includes(name)
  );
  return [...new Set([...own, ...others])].filter((other) => other !== name).sort();
}

/** The way by which an add-on requires itself, such as `a → b → a`; null where it does not. */
export function cycleThrough(name: string, templates: Templates): readonly string[] | null {
  const seen = new Set<string>();
  function search(at: string, path: readonly string[]): readonly string[] | null {
    for (const required of requirementsOf(at, templates)) {
      if (required === name) return [...path, name];
      if (seen.has(required)) continue;
      seen.add(required);
      const found = search(required, [...path, required]);
      if (found !== null) return found;
    }
    return null;
  }
  return search(name, [name]);
}

/** The names so that each comes after what it requires; the same order whatever order they came in. */
export function inDependencyOrder(names: readonly string[], templates: Templates): string[] {
  const wanted = new Set(names);
  const ordered: string[] = [];
  const visited = new Set<string>();
  function visit(name: string): void {
    if (visited.has(name)) return;
    visited.add(name);
    requirementsOf(name, templates).forEach(visit);
    if (wanted.has(name)) ordered.push(name);
  }
  [...names].sort().forEach(visit);
  return ordered;
}

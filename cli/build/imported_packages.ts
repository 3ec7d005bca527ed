import { runCommand } from "./command.ts";
import { REPOSITORY } from "./repository.ts";

interface Graph {
  readonly modules: readonly {
    readonly dependencies?: readonly { readonly code?: { readonly specifier?: string } }[];
  }[];
}

/**
 * The npm packages whose code the shipped program imports, as `name@version`, sorted. Imports of types
 * alone do not count: nothing of them is in the program.
 */
export async function importedPackages(): Promise<readonly string[]> {
  const info = await runCommand([Deno.execPath(), "info", "--json", "cli/main.ts"], {
    cwd: REPOSITORY,
  });
  const { modules } = JSON.parse(info) as Graph;
  const specifiers = modules.flatMap(({ dependencies = [] }) =>
    dependencies.map(({ code }) => code?.specifier ?? "")
  );
  const names = specifiers.map((text) => /^npm:\/?(@[^@/]+\/[^@/]+@[^/]+|[^@/]+@[^/]+)/.exec(text));
  return [...new Set(names.flatMap((match) => match?.[1] ?? []))].sort();
}

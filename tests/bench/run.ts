/**
 * The benchmarks: `deno task bench [--json] [NAME...]`. Each file `tests/bench/NAME_bench.ts` exports
 * a function `bench`; what they measure is printed as one table, or as JSON for a machine. Absolute
 * numbers belong to the machine they were measured on: the ratios are what to compare.
 */
import { parseArgs } from "node:util";
import { complain, say } from "../runner/say.ts";
import { table } from "../runner/table.ts";
import type { Bench, BenchFunction, BenchRow } from "./bench.ts";

const { values, positionals } = parseArgs({
  args: Deno.args,
  options: { json: { type: "boolean", default: false } },
  allowPositionals: true,
});

const names = await readNames();
const unknown = positionals.filter((name) => !names.includes(name));
if (unknown.length > 0) {
  complain(`no benchmark is called ${unknown.join(", ")}. There are: ${names.join(", ")}`);
  Deno.exit(2);
}

const benches = await measure(positionals.length === 0 ? names : positionals);
say(values.json ? JSON.stringify(benches, null, 2) : inTable(benches));

/** One after the other: side by side they would measure each other. */
async function measure(wanted: readonly string[]): Promise<readonly Bench[]> {
  const found: Bench[] = [];
  for (const name of wanted) {
    const module: { readonly bench: BenchFunction } = await import(`./${name}_bench.ts`);
    found.push(...await module.bench());
  }
  return found;
}

async function readNames(): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const { name } of Deno.readDir(new URL(".", import.meta.url))) {
    if (name.endsWith("_bench.ts")) found.push(name.slice(0, -"_bench.ts".length));
  }
  return found.sort();
}

function inTable(all: readonly Bench[]): string {
  const rows = all.flatMap(({ name, rows }) => rows.map((row) => [name, ...cells(row)]));
  const heads = ["benchmark", "what", "measured", "minimal program", "ratio"];
  return table([[...heads, "from sources", "ratio"], ...rows]);
}

function cells(row: BenchRow): readonly string[] {
  const { what, value, unit, baseline, uncompiled, isDifference } = row;
  const amount = (number: number) => `${Number(number.toPrecision(3))} ${unit}`;
  const beside = (other: number | undefined) => {
    if (other === undefined) return ["", ""];
    const ratio = other === 0 || isDifference ? "" : (value / other).toFixed(2);
    return [amount(other), ratio];
  };
  return [what, amount(value), ...beside(baseline), ...beside(uncompiled)];
}

import { join } from "node:path";
import type { Report } from "../../simulate/report/report.ts";
import { print } from "../print.ts";

/** Writes a report to a folder (made where it is missing), or with `-` to standard output. */
export async function writeReport(report: Report, where: string | null): Promise<void> {
  if (where === null) return;
  const text = `${JSON.stringify(report)}\n`;
  if (where === "-") return print("stdout", text);
  await Deno.mkdir(where, { recursive: true });
  await Deno.writeTextFile(join(where, "report.json"), text);
  print("stderr", `report: ${join(where, "report.json")}\n`);
}

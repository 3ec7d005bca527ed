import { join } from "node:path";
import { reportPage } from "../../simulate/html/page.ts";
import type { Report } from "../../simulate/report/report.ts";
import { print } from "../print.ts";

/**
 * Writes a report to a folder (made where it is missing) as JSON and as a page, or with `-` as JSON to
 * standard output.
 */
export async function writeReport(report: Report, where: string | null): Promise<void> {
  if (where === null) return;
  const text = `${JSON.stringify(report)}\n`;
  if (where === "-") return print("stdout", text);
  await Deno.mkdir(where, { recursive: true });
  await Deno.writeTextFile(join(where, "report.json"), text);
  await Deno.writeTextFile(join(where, "report.html"), reportPage(report));
  print(
    "stderr",
    `report: ${join(where, "report.json")}, to read: ${join(where, "report.html")}\n`,
  );
}

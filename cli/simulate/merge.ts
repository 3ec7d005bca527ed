import { parseArgs } from "node:util";
import { describeIssue } from "../../core/protocol/schema_error.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { mergeReports } from "../../simulate/report/merge.ts";
import { Report } from "../../simulate/report/report.ts";
import { judge, type Limit, parseSlo } from "../../simulate/report/slo.ts";
import { EXIT, type ExitCode } from "../exit_codes.ts";
import { print } from "../print.ts";
import { reportText } from "./report_text.ts";
import { writeReport } from "./write_report.ts";

interface MergeOptions {
  readonly files: readonly string[];
  readonly report: string;
  /** Null: those that the reports were judged by. */
  readonly limits: readonly Limit[] | null;
  readonly partial: boolean;
}

/** `simulate merge REPORT...`: one report of all shards, judged anew. */
export async function merge(args: readonly string[], writesFiles: boolean): Promise<ExitCode> {
  const options = readOptions(args, writesFiles);
  if (!options.ok) return refuse(options.error, EXIT.USAGE);
  const { files, report: where, partial } = options.value;
  const reports: Report[] = [];
  for (const file of files) {
    const report = await readReport(file);
    if (!report.ok) return refuse(`${file}: ${report.error}`, EXIT.FAILED);
    reports.push(report.value);
  }
  const merged = mergeReports(reports);
  if (!merged.ok) return refuse(merged.error, EXIT.FAILED);
  const { of, included } = merged.value.run.shards;
  if (included.length < of && !partial) {
    const missing = Array.from({ length: of }, (_, index) => index)
      .filter((index) => !included.includes(index));
    const which = missing.slice(0, 10).join(", ");
    return refuse(
      `of ${of} shards these are missing: ${which} (--partial merges the rest)`,
      EXIT.FAILED,
    );
  }
  const limits = options.value.limits === null
    ? parseSlo(reports[0]?.slo.map(({ limit }) => limit).join(",") ?? "")
    : ok(options.value.limits);
  const slo = limits.ok ? judge(merged.value, limits.value) : [];
  const report = { ...merged.value, slo };
  print("stderr", reportText(report));
  await writeReport(report, where);
  return slo.every(({ held }) => held) ? EXIT.OK : EXIT.LIMITS;
}

function readOptions(args: readonly string[], writesFiles: boolean): Result<MergeOptions, string> {
  let parsed;
  try {
    parsed = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        report: { type: "string", default: "-" },
        slo: { type: "string" },
        partial: { type: "boolean", default: false },
      },
    });
  } catch (error) {
    return fail(error instanceof Error ? error.message.split(". ")[0] ?? "" : String(error));
  }
  const { values, positionals } = parsed;
  if (positionals.length === 0) return fail("no report is named");
  if (values.report !== "-" && !writesFiles) {
    return fail("--report: this program writes no files: use --report - for standard output");
  }
  const limits = values.slo === undefined ? ok(null) : parseSlo(values.slo);
  if (!limits.ok) return fail(`--slo: ${limits.error}`);
  const { report, partial } = values;
  return ok({ files: positionals, report, limits: limits.value, partial });
}

async function readReport(file: string): Promise<Result<Report, string>> {
  try {
    const report = Report.safeParse(JSON.parse(lastReport(await Deno.readTextFile(file))));
    return report.success ? ok(report.data) : fail(`is no report: ${describeIssue(report.error)}`);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return fail("is not there");
    return fail(error instanceof SyntaxError ? "is no JSON" : String(error));
  }
}

/** A report alone, or the log of a run that wrote its report to standard output: its last line then. */
function lastReport(text: string): string {
  const lines = text.split("\n").filter((line) => line.startsWith('{"kind":"pbx-simulate-report"'));
  return lines.at(-1) ?? text;
}

function refuse(message: string, code: ExitCode): ExitCode {
  print("stderr", `simulate merge: ${message}\n`);
  return code;
}

import { describeIssue } from "../../core/protocol/schema_error.ts";
import { reportPage } from "../../simulate/html/page.ts";
import { Report } from "../../simulate/report/report.ts";
import { EXIT, type ExitCode } from "../exit_codes.ts";
import { print } from "../print.ts";

/** `simulate html REPORT`: the page of a report's JSON on standard output; `-` is standard input. */
export async function html(args: readonly string[]): Promise<ExitCode> {
  const [file, ...rest] = args;
  if (file === undefined || rest.length > 0 || file === "--help") {
    print(
      "stderr",
      "usage: simulate html REPORT > PAGE     (REPORT: JSON, - for standard input)\n",
    );
    return file === "--help" ? EXIT.OK : EXIT.USAGE;
  }
  let document: unknown;
  try {
    const text = file === "-"
      ? await new Response(Deno.stdin.readable).text()
      : await Deno.readTextFile(file);
    document = JSON.parse(text);
  } catch (error) {
    const why = error instanceof Deno.errors.NotFound
      ? "is not there"
      : error instanceof SyntaxError
      ? "is no JSON"
      : String(error);
    print("stderr", `simulate html: ${file}: ${why}\n`);
    return EXIT.FAILED;
  }
  const report = Report.safeParse(document);
  if (!report.success) {
    print("stderr", `simulate html: ${file}: is no report: ${describeIssue(report.error)}\n`);
    return EXIT.FAILED;
  }
  print("stdout", reportPage(report.data));
  return EXIT.OK;
}

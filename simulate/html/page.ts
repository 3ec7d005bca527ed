import { createHash } from "node:crypto";
import type { Report } from "../report/report.ts";
import { chartsOf } from "./charts.ts";
import { Html, markup } from "./html.ts";
import { SCRIPT } from "./script.ts";
import { STYLE } from "./style.ts";
import { summaryOf, title } from "./summary.ts";
import { judgements, tables } from "./tables.ts";

/**
 * A report as one HTML page that needs nothing else: charts, tables and words for somebody who was not
 * there. Whatever comes from the report is escaped; beyond that the page's own policy lets no script run
 * but the one that it was made with, and nothing be loaded.
 */
export function reportPage(report: Report): string {
  const charts = chartsOf(report);
  const policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; " +
    `script-src '${hashOf(SCRIPT)}'; base-uri 'none'; form-action 'none'`;
  const page = markup`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${new Html(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<title>${title(report)}: simulated fleet</title>
<style>${new Html(STYLE)}</style>
</head>
<body>
<main>
${summaryOf(report)}
${judgements(report)}
<section id="charts"><h2>Charts</h2>
${charts.length === 0 ? markup`<p>The run was too short for a chart.</p>` : charts}
</section>
${tables(report)}
<footer>Percentiles are within 3.2 % in charts over time and within 0.1 % elsewhere. Times count from
the moment a request was due, so that a portal that is slow does not look faster by being asked
less.</footer>
</main>
<script>${new Html(SCRIPT)}</script>
</body>
</html>
`;
  return page.toString();
}

function hashOf(script: string): string {
  return `sha256-${createHash("sha256").update(script).digest("base64")}`;
}

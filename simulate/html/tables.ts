import { type Histogram, percentile } from "../report/histogram.ts";
import { ENDPOINTS, type Report, STATES } from "../report/report.ts";
import { bytes, count, duration, milliseconds, percent } from "./figures.ts";
import { type Html, markup, type Part } from "./html.ts";
import { measuredWords } from "./summary.ts";
import { codeWords, ENDPOINT_WORDS, limitWords, STATE_COLOURS, STATE_WORDS } from "./words.ts";

/** A column: its heading, and whether it holds figures. */
type Column = string | { readonly figure: string };

/** Limits and faults, which stand before the charts. */
export function judgements({ slo, faults }: Report): Html {
  return markup`${
    slo.length === 0 ? null : section(
      "limits",
      "Limits",
      "What the run was held to.",
      table(["limit", "in words", { figure: "measured" }, "held"], [
        ...slo.map(({ limit, measured, held }) => [
          markup`<code>${limit}</code>`,
          limitWords(limit),
          measured === null ? "nothing" : measuredWords(limit, measured),
          markup`<b class="${held ? "good" : "bad"}">${held ? "yes" : "no"}</b>`,
        ]),
      ]),
    )
  }${
    faults.length === 0 ? null : section(
      "faults",
      "Faults of the agent",
      "The first ones that were seen. None is the fault of the portal.",
      table(
        ["agent", "what"],
        faults.map(({ agent, message }) => [agent, markup`<pre>${message}</pre>`]),
      ),
    )
  }`;
}

/** The figures behind the charts. */
export function tables(report: Report): Html {
  return markup`${endpoints(report)}${codes(report)}${agents(report)}${operations(report)}${
    happenings(report)
  }${simulator(report)}${settings(report)}`;
}

function endpoints({ endpoints: all }: Report): Html | null {
  const rows = ENDPOINTS.flatMap((name) => {
    const figures = all[name];
    if (figures === undefined || figures.requests === 0) return [];
    const { requests, succeeded, errors, provoked, response, service } = figures;
    return [[
      ENDPOINT_WORDS[name],
      count(requests),
      count(succeeded),
      count(errors),
      count(provoked),
      ...[50, 90, 99, 99.9, 100].map((at) => atPercent(response, at)),
      atPercent(service, 99),
    ]];
  });
  if (rows.length === 0) return null;
  const columns = ["requests", "succeeded", "failed", "failed on purpose"];
  const times = ["p50", "p90", "p99", "p99.9", "slowest", "p99 of the portal"];
  return section(
    "endpoints",
    "Requests by what they were for",
    "Times are from the moment a request was due; the last column is from the moment it was sent. On " +
      "purpose failed what the profile of the run wanted to fail.",
    table(["for", ...[...columns, ...times].map((figure) => ({ figure }))], rows),
  );
}

function atPercent(histogram: Histogram, at: number): string {
  return histogram.count === 0 ? "" : milliseconds(percentile(histogram, at) / 1_000);
}

function codes({ errors, provoked, endpoints: all }: Report): Html {
  const requests = Object.values(all).reduce((sum, one) => sum + one.requests, 0);
  const names = [...new Set([...Object.keys(errors), ...Object.keys(provoked)])];
  if (names.length === 0) {
    return section("codes", "Errors by code", "There were none.", null);
  }
  const of = (counts: Readonly<Record<string, number>>, name: string) =>
    Object.hasOwn(counts, name) ? counts[name] ?? 0 : 0;
  names.sort((one, other) =>
    of(errors, other) - of(errors, one) || of(provoked, other) - of(provoked, one)
  );
  const rows = names.map((name) => [
    markup`<code>${name}</code>`,
    codeWords(name),
    count(of(errors, name)),
    requests === 0 ? "" : percent(of(errors, name) / requests),
    count(of(provoked, name)),
  ]);
  const figures = ["errors", "of all requests", "on purpose"];
  return section(
    "codes",
    "Errors by code",
    "",
    table(["code", "what", ...figures.map((figure) => ({ figure }))], rows),
  );
}

function agents({ agents }: Report): Html {
  const rows = STATES.filter((state) => (agents.states[state] ?? 0) > 0).map((state) => [
    markup`<span class="name"><i class="swatch c${STATE_COLOURS[state]}"></i>${state}</span>`,
    STATE_WORDS[state],
    count(agents.states[state] ?? 0),
  ]);
  const text = `${count(agents.started)} began, ${count(agents.enrolled)} enrolled.`;
  const figure = "agents at the end";
  return section("agents", "Agents", text, table(["state", "what it means", { figure }], rows));
}

function operations({ operations }: Report): Html | null {
  const rows = Object.entries(operations).map(([kind, { begun, results, duration_ms: times }]) => [
    markup`<code>${kind}</code>`,
    count(begun),
    Object.entries(results).map(([state, amount]) => `${count(amount)} ${state}`).join(", "),
    ...[50, 99, 100].map((at) => times.count === 0 ? "" : milliseconds(percentile(times, at))),
  ]);
  if (rows.length === 0) return null;
  const times = ["p50", "p99", "longest"].map((figure) => ({ figure }));
  return section(
    "operations",
    "Operations",
    "What the portal asked of single nodes, from an agent's taking it up to its result.",
    table(["kind", { figure: "begun" }, "results", ...times], rows),
  );
}

function happenings({ happenings }: Report): Html | null {
  const rows = Object.entries(happenings).filter(([, times]) => times > 0)
    .sort(([, one], [, other]) => other - one)
    .map(([name, times]) => [name.replaceAll("_", " "), count(times)]);
  return rows.length === 0 ? null : section(
    "happenings",
    "What the profile did to the fleet",
    "On purpose, to see the agents get over it.",
    table(["what", { figure: "how often" }], rows),
  );
}

function simulator({ resources }: Report): Html | null {
  if (resources === null) return null;
  const { cpu_ms, rss_bytes, lateness } = resources;
  const late = (at: number) => atPercent(lateness, at);
  return section(
    "simulator",
    "The simulator itself",
    "Timers that go off many milliseconds late say that the simulator, not the portal, was the limit.",
    table(["", { figure: "" }], [
      ["processor time", duration(cpu_ms)],
      ["largest memory", bytes(rss_bytes)],
      ["timers late, p50", late(50)],
      ["timers late, p99", late(99)],
      ["timers late, most", late(100)],
    ]),
  );
}

function settings({ run, program, mode }: Report): Html {
  const profile = JSON.stringify(run.profile, null, 2);
  const shards = `${run.shards.included.join(", ")} of ${run.shards.of}`;
  return section(
    "settings",
    "How it was run",
    "With the same seed and profile the same fleet is drawn again.",
    [
      table(["", ""], [
        ["program", `pbx-agent ${program.version} on ${program.runtime}`],
        ["time", mode],
        ["portal", run.portal],
        ["agents of the whole fleet", count(run.agents)],
        ["shards in this report", shards],
        ["seed", String(run.seed)],
        ["asked for", duration(run.duration_ms)],
        ["began over", duration(run.ramp_ms)],
        ["a report every", duration(run.cycle_ms)],
        ["slices of", duration(run.slice_ms)],
      ]),
      markup`<details><summary>The profile</summary><pre>${profile}</pre></details>`,
    ],
  );
}

function section(id: string, title: string, text: string, content: Part): Html {
  const words = text === "" ? null : markup`<p>${text}</p>`;
  return markup`<section id="${id}"><h2>${title}</h2>${words}${content}</section>
`;
}

function table(columns: readonly Column[], rows: readonly (readonly Part[])[]): Html {
  const isFigure = columns.map((column) => typeof column !== "string");
  const names = columns.map((column) => typeof column === "string" ? column : column.figure);
  const kind = (index: number) => isFigure[index] === true ? "figure" : "text";
  const headings = names.map((name, index) => markup`<th class="${kind(index)}">${name}</th>`);
  const cell = (part: Part, index: number) => markup`<td class="${kind(index)}">${part}</td>`;
  const isBare = names.every((name) => name === "");
  return markup`<div class="wide"><table>
${isBare ? null : markup`<thead><tr>${headings}</tr></thead>`}
<tbody>${rows.map((row) => markup`<tr>${row.map(cell)}</tr>\n`)}</tbody>
</table></div>`;
}

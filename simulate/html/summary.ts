import { percentile } from "../report/histogram.ts";
import type { Report } from "../report/report.ts";
import { bytes, count, duration, milliseconds, number, percent } from "./figures.ts";
import { type Html, markup } from "./html.ts";
import { limitWords } from "./words.ts";

/** What a reader should know first: did it go well, what was run, how much of it. */
export function summaryOf(report: Report): Html {
  return markup`<header>
<p class="kind">Simulated fleet</p>
<h1>${title(report)}</h1>
<p class="lead">${whatWasRun(report)}</p>
${verdict(report)}
</header>
<section class="tiles">${tiles(report)}</section>`;
}

/** The page's title. */
export function title({ agents, run }: Report): string {
  const began = Date.parse(run.started_at);
  const ended = Date.parse(run.ended_at);
  const length = ended > began ? ended - began : run.duration_ms;
  return `${count(agents.included)} agents for ${duration(length)}`;
}

function whatWasRun({ run, program, mode, agents }: Report): Html {
  const { shards } = run;
  const part = shards.included.length < shards.of
    ? markup` This is a part of the fleet: ${shards.included.length} of ${shards.of} shards, <strong>${
      count(agents.included)
    } of ${count(run.agents)} agents</strong>.`
    : shards.of > 1
    ? markup` ${shards.of} processes ran it; their reports are merged.`
    : null;
  const clock = mode === "virtual"
    ? markup`in simulated time, on a clock of its own`
    : markup`in real time, over real HTTP`;
  const portal = run.portal === "inside"
    ? markup`a fake portal in the same process`
    : markup`the portal at <strong>${run.portal}</strong>`;
  return markup`Agents of pbx-agent ${program.version}, on machines that exist in memory only, worked with ${portal}, ${clock}, from ${
    moment(run.started_at)
  } to ${moment(run.ended_at)}. They began over ${
    inOne(duration(run.ramp_ms))
  } and reported every ${inOne(duration(run.cycle_ms))}.${part}${
    run.ended_by === "signal"
      ? markup` <strong>It was told to end before its time</strong> (${duration(run.duration_ms)}).`
      : null
  }`;
}

/** Not broken into two lines. */
function inOne(text: string): string {
  return text.replaceAll(" ", "\u00a0");
}

function moment(text: string): string {
  const at = Date.parse(text);
  return Number.isNaN(at)
    ? text
    : `${new Date(at).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

function verdict({ slo, faults, agents }: Report): Html {
  const broken = slo.filter(({ held }) => !held);
  const crashed = agents.states.crashed ?? 0;
  if (faults.length > 0 || crashed > 0) {
    const what = faults.length > 0 ? `${count(faults.length)} seen` : `${count(crashed)} crashed`;
    const limits = broken.length === 0
      ? ""
      : `Of ${slo.length} limits ${broken.length} did not hold.`;
    return markup`<p class="verdict bad"><b>Faults of the agent itself.</b> ${what}: they are listed
below. ${limits}</p>`;
  }
  if (slo.length === 0) {
    return markup`<p class="verdict"><b>No limits were set,</b> so this run neither passes nor fails.</p>`;
  }
  if (broken.length === 0) {
    return markup`<p class="verdict good"><b>${
      slo.length === 1 ? "The limit held." : `All ${slo.length} limits held.`
    }</b> ${sentence(slo.map(({ limit }) => limitWords(limit)))}</p>`;
  }
  const words = broken.map(({ limit, measured }) =>
    `${limitWords(limit)} (it was ${
      measured === null ? "not measured" : measuredWords(limit, measured)
    })`
  );
  const what = slo.length === 1 ? "limit" : "limits";
  return markup`<p class="verdict bad"><b>${broken.length} of ${slo.length} ${what} did not hold.</b> ${
    sentence(words)
  }</p>`;
}

/** What was measured, in the limit's own unit. */
export function measuredWords(limit: string, measured: number): string {
  const unit = /(us|ms|s|%)$/.exec(limit)?.[1];
  if (unit === "ms") return milliseconds(measured);
  if (unit === "%") return percent(measured / 100);
  return `${number(measured)}${unit === undefined ? "" : ` ${unit.replace("us", "µs")}`}`;
}

function sentence(parts: readonly string[]): string {
  const text = parts.join("; ");
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

function tiles(report: Report): Html[] {
  const { agents, endpoints, resources, run } = report;
  const all = Object.values(endpoints);
  const requests = all.reduce((sum, { requests }) => sum + requests, 0);
  const errors = all.reduce((sum, one) => sum + one.errors, 0);
  const seconds = (Date.parse(run.ended_at) - Date.parse(run.started_at)) / 1_000;
  const sync = endpoints.sync;
  const synced = agents.states.synced ?? 0;
  const found = [
    tile("Requests", count(requests), seconds > 0 ? `${number(requests / seconds)} a second` : ""),
    tile(
      "Failed",
      count(errors),
      requests === 0 ? "" : `${percent(errors / requests)} of all`,
      errors === 0 ? "good" : "",
    ),
    tile(
      "Agents in sync",
      count(synced),
      `${percent(agents.included === 0 ? 0 : synced / agents.included)} at the end`,
    ),
  ];
  if (sync !== undefined && sync.response.count > 0) {
    const at = (percentage: number) => milliseconds(percentile(sync.response, percentage) / 1_000);
    found.push(tile("Report, p50", at(50), "half were faster"));
    found.push(tile("Report, p99", at(99), "99 of 100 were faster"));
  }
  if (resources !== null && sync !== undefined && sync.requests > 0) {
    found.push(
      tile(
        "Simulator",
        `${number(resources.cpu_ms / sync.requests)} ms`,
        `of processor a report; ${bytes(resources.rss_bytes)}`,
      ),
    );
  }
  return found;
}

function tile(name: string, figure: string, more: string, kind = ""): Html {
  return markup`<div class="tile ${kind}"><p>${name}</p><b>${figure}</b><p>${more}</p></div>`;
}

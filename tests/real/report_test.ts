// needs: chromium
import assert from "node:assert/strict";
import { reportPage } from "../../simulate/html/page.ts";
import { Report } from "../../simulate/report/report.ts";
import { type Page, startChromium } from "../lab/chromium.ts";
import { decodePng, pixelsOf } from "../lab/png.ts";
import { hostileReport } from "../unit/simulate/html/hostile_report.ts";
import { sampleReport } from "../unit/simulate/html/sample_report.ts";

const REPOSITORY = new URL("../../", import.meta.url).pathname;
const CHARTS = ["latency", "distribution", "states", "rates", "errors"] as const;
const BLUE = { light: "#0072b2", dark: "#4aa8e0" } as const;
const GREEN = { light: "#00916b", dark: "#35c79c" } as const;

Deno.test("report: a browser without a network draws the page of a real run, in any window, light or dark", async () => {
  await withPage(await pageOfARun(), async (page) => {
    for (const chart of ["latency", "distribution", "states", "rates"]) await isDrawn(page, chart);
    isQuiet(page);
  });
});

Deno.test("report: every chart is drawn, with the colours of the reader's choice", async () => {
  await withPage(reportPage(sampleReport()), async (page) => {
    for (const mode of ["light", "dark"] as const) {
      await page.emulate({ width: 1_000, height: 900, dark: mode === "dark" });
      for (const chart of CHARTS) await isDrawn(page, chart);
      const latency = decodePng(await page.screenshot(await placeOf(page, "latency")));
      assert.ok(pixelsOf(latency, BLUE[mode]) > 500, `${mode}: the line of p50`);
      const states = decodePng(await page.screenshot(await placeOf(page, "states")));
      assert.ok(pixelsOf(states, GREEN[mode]) > 50_000, `${mode}: the area of agents in sync`);
      await keep(`report_${mode}`, await page.screenshot());
    }
    for (const width of [360, 700, 1_600]) {
      await page.emulate({ width, height: 800 });
      const widest = await page.evaluate<number>("document.documentElement.scrollWidth");
      assert.equal(widest, width, "nothing stands out of the window");
      for (const chart of CHARTS) await isDrawn(page, chart);
    }
    await page.emulate({ width: 360, height: 800 });
    await keep("report_narrow", await page.screenshot());
    isQuiet(page);
  });
});

Deno.test("report: at the cursor stand the values of that moment", async () => {
  await withPage(reportPage(sampleReport()), async (page) => {
    await page.emulate({ width: 1_000, height: 900 });
    await page.evaluate(
      `document.querySelector("#latency svg").scrollIntoView({ block: "center" })`,
    );
    const [x, y] = await page.evaluate<[number, number]>(`(() => {
      const area = document.querySelector("#latency svg").getBoundingClientRect();
      return [area.left + area.width * .7, area.top + area.height / 2];
    })()`);
    await page.point(x, y);
    const text = await page.evaluate<string>(`document.querySelector("#latency .box").innerText`);
    assert.match(text, /^6:[0-9]{2} \(12:06:[0-9]{2} UTC\), 5 s around it\s/);
    assert.match(text, /p50\s+[0-9.]+ ms\s+p90\s+[0-9.]+ m?s\s+p99\s+/);
    const inside = await page.evaluate<boolean>(`(() => {
      const box = document.querySelector("#latency .box").getBoundingClientRect();
      return box.width > 50 && box.left >= 0 && box.right <= innerWidth;
    })()`);
    assert.ok(inside, "the box is within the window");
    await page.point(1, 1);
    assert.equal(await page.evaluate(`document.querySelector("#latency .box").hidden`), true);
    isQuiet(page);
  });
});

Deno.test("report: a report whose every text is hostile makes a page that does nothing", async () => {
  await withPage(reportPage(hostileReport(20)), async (page) => {
    await page.emulate({ width: 1_000, height: 900 });
    const found = await page.evaluate<number>(
      `document.querySelectorAll("img, iframe, object, [onerror], [onload], script[src]").length`,
    );
    assert.equal(found, 0);
    const [x, y] = await page.evaluate<[number, number]>(`(() => {
      const svg = document.querySelector("#errors svg");
      svg.scrollIntoView({ block: "center" });
      const area = svg.getBoundingClientRect();
      return [area.left + area.width / 2, area.top + area.height / 2];
    })()`);
    await page.point(x, y);
    const box = await page.evaluate<string>(`document.querySelector("#errors .box").innerText`);
    assert.ok(box.includes("<img src=x onerror="), "the name is shown as text");
    isQuiet(page);
  });
});

/** A small run, as its command writes it. */
async function pageOfARun(): Promise<string> {
  const folder = await Deno.makeTempDir();
  try {
    const { code, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [
        ...["run", "--frozen", "--no-prompt", "-A", "cli/simulate.ts", "--agents", "12"],
        ...["--duration", "12s", "--ramp", "3s", "--cycle", "2s", "--report", folder],
      ],
      cwd: REPOSITORY,
      stdout: "null",
      stderr: "piped",
    }).output();
    assert.equal(code, 0, new TextDecoder().decode(stderr));
    const report = Report.parse(JSON.parse(await Deno.readTextFile(`${folder}/report.json`)));
    const page = await Deno.readTextFile(`${folder}/report.html`);
    assert.equal(page, reportPage(report), "the page is that of the JSON beside it");
    assert.ok(page.length < 200_000, `${page.length} bytes`);
    return page;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function withPage(html: string, test: (page: Page) => Promise<void>): Promise<void> {
  const file = await Deno.makeTempFile({ suffix: ".html" });
  await Deno.writeTextFile(file, html);
  const browser = await startChromium();
  try {
    await test(await browser.open(`file://${file}`));
  } finally {
    await browser.close();
    await Deno.remove(file);
  }
}

/** A chart whose lines or areas reach over most of its width, in a colour that is seen. */
async function isDrawn(page: Page, id: string): Promise<void> {
  const shapes = await page.evaluate<{ width: number; length: number; paint: string }[]>(`
    [...document.querySelectorAll("#${id} path")].map((path) => {
      const style = getComputedStyle(path);
      const paint = path.classList.contains("line") ? style.stroke : style.fill;
      const { width } = path.getBoundingClientRect();
      return { width, length: path.getTotalLength(), paint };
    })`);
  assert.ok(shapes.length > 0, `${id} has no shapes`);
  const widest = Math.max(...shapes.map(({ width }) => width));
  assert.ok(widest > 150, `${id} is ${widest} pixels wide`);
  for (const { paint } of shapes) assert.match(paint, /^rgb\(/, `${id} is painted ${paint}`);
}

function placeOf(page: Page, id: string): Promise<{
  x: number;
  y: number;
  width: number;
  height: number;
}> {
  return page.evaluate(`(() => {
    const { x, y, width, height } = document.querySelector("#${id} svg").getBoundingClientRect();
    return { x: x + scrollX, y: y + scrollY, width, height };
  })()`);
}

/** No request, no error, no dialog: the page is all that there is. */
function isQuiet({ requests, complaints, dialogs }: Page): void {
  assert.deepEqual({ requests, complaints, dialogs }, {
    requests: [],
    complaints: [],
    dialogs: [],
  });
}

/** For people: into the folder that PBX_SCREENSHOTS names, if it names one. */
async function keep(name: string, png: Uint8Array): Promise<void> {
  const folder = Deno.env.get("PBX_SCREENSHOTS");
  if (folder !== undefined) await Deno.writeFile(`${folder}/${name}.png`, png);
}

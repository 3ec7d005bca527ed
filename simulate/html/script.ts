/**
 * The page's one script: a line at the cursor and a box with the values there. Without it the page lacks
 * nothing else. It makes elements and texts, never HTML: what stands in the data stays text.
 */
export const SCRIPT = `
for (const figure of document.querySelectorAll("figure.chart")) {
  const data = JSON.parse(figure.querySelector("script").textContent);
  const plot = figure.querySelector(".plot");
  const svg = figure.querySelector("svg");
  const cursor = figure.querySelector(".cursor");
  const box = figure.querySelector(".box");
  const swatches = figure.querySelectorAll(".legend .swatch");
  const cell = (row, content) => row.appendChild(document.createElement("td")).append(content);
  const show = (is) => { box.hidden = cursor.hidden = !is; };
  plot.addEventListener("pointerleave", () => show(false));
  plot.addEventListener("pointermove", (event) => {
    const area = svg.getBoundingClientRect();
    const x = (event.clientX - area.left) / area.width;
    let near = 0;
    data.x.forEach((at, index) => {
      if (Math.abs(at - x) < Math.abs(data.x[near] - x)) near = index;
    });
    const left = data.x[near] * area.width;
    cursor.style.left = left + "px";
    const table = document.createElement("table");
    data.told[near].forEach((text, index) => {
      if (text === null) return;
      const row = table.appendChild(document.createElement("tr"));
      const name = document.createElement("span");
      name.append(swatches[index].cloneNode(), data.names[index]);
      cell(row, name);
      cell(row, text);
    });
    box.replaceChildren(data.at[near], table);
    show(true);
    const room = area.width - box.offsetWidth;
    const beside = left + 14 > room ? left - box.offsetWidth - 14 : left + 14;
    box.style.left = Math.max(0, Math.min(beside, room)) + "px";
  });
}
`;

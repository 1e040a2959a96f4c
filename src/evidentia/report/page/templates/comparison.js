"use strict";
/* What only the page of a comparison does: its table by pair, family and verdict, and the file that it rests on. */
addEventListener("DOMContentLoaded", () => {
  const { all, byId, content, counted, download, say } = Evidentia;
  const table = document.querySelector('[data-table="differences"]');
  const chosen = (id) => byId(id)?.value ?? "";
  const choose = () => {
    const words = chosen("delta-filter").trim().toLowerCase(), pair = chosen("delta-pair"), family = chosen("delta-family"), verdict = chosen("delta-verdict");
    let left = 0;
    for (const body of table.tBodies) {
      const wanted = (pair === "" || body.dataset.pair === pair) && (family === "" || body.dataset.family === family);
      let here = 0;
      for (const row of all("tr:not(.family)", body)) {
        row.hidden = !wanted || (verdict !== "" && row.dataset.verdict !== verdict) || (words !== "" && !row.textContent.toLowerCase().includes(words));
        if (!row.hidden) here++;
      }
      for (const head of all("tr.family", body)) head.hidden = here === 0;
      left += here;
    }
    byId("delta-count").textContent = counted(left, "difference");
    say(counted(left, "row"));
  };
  byId("delta-filter").addEventListener("input", choose);
  for (const id of ["delta-pair", "delta-family", "delta-verdict"]) byId(id)?.addEventListener("change", choose);
  choose();
  for (const button of all(".get-comparison")) button.addEventListener("click", async () => download("comparison.json", [(await content()).summary], "application/json"));
});

"use strict";
/* The items behind a selective result, as files. */
for (const button of Evidentia.all("[data-items]")) button.addEventListener("click", async () => {
  const { items } = await Evidentia.content(), role = button.dataset.items, names = Object.keys(items[role]);
  const rows = items[role][names[0]].map((_, i) => names.map((name) => Evidentia.csvCell(String(items[role][name][i]))).join(","));
  Evidentia.download(`${role}.csv`, [[names.map(Evidentia.csvCell).join(","), ...rows].join("\n"), "\n"], "text/csv");
});

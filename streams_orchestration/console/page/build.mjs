// Writes the files that are served: page script and styles by esbuild, the layout engine as it was published.
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const target = process.argv[2] ?? "../static";
await build({
  entryPoints: { console: "src/main.ts", compile: "src/compile/main.ts" },
  outdir: target,
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  logLevel: "warning",
});
for (const page of ["index.html", "compile.html"]) copyFileSync(`src/${page}`, `${target}/${page}`);
copyFileSync("node_modules/elkjs/lib/elk-worker.min.js", `${target}/elk-worker.min.js`);
const licence = (name, file) => readFileSync(`node_modules/${name}/${file}`, "utf8").trimEnd();
writeFileSync(
  `${target}/THIRD-PARTY.txt`,
  [
    "elk-worker.min.js is elkjs 0.12.1, unchanged; its interface is a part of console.js and compile.js.",
    "Source: https://github.com/kieler/elkjs (tag 0.12.1). Licence:\n",
    licence("elkjs", "LICENSE.md"),
    "\n\nuPlot 1.6.32 is a part of console.js, compile.js and console.css.",
    "Source: https://github.com/leeoniya/uPlot (tag 1.6.32). Licence:\n",
    licence("uplot", "LICENSE"),
    "",
  ].join("\n"),
);

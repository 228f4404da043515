// Bundles the viewer into dist/viewer.js, dist/viewer.css and dist/LICENSES.txt: the same bytes from the same sources.
// In: src/, node_modules (npm ci). Out: three files in --outdir (dist). Left to neighbours: putting them into a page with
// its data (the report writer of candle-graph), types (npm run check).
//
// The worker is bundled first and goes into the page's script as a string: a page opened from disk has no second file.

import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const home = dirname(fileURLToPath(import.meta.url));
const at = process.argv.indexOf("--outdir");
const outdir = resolve(at > 0 ? process.argv[at + 1] : join(home, "dist"));

const shared = {
  absWorkingDir: home,
  bundle: true,
  minify: true,
  write: false,
  metafile: true,
  target: "es2022",
  format: "iife",
  charset: "ascii",
  legalComments: "none",
  logLevel: "warning",
  define: { "process.env.NODE_ENV": '"production"' },
};

// The Arrow library compiles comparisons of null values from text for its builders, which only write. The page reads,
// and its policy forbids code from text: the module is replaced by one that says so.
const noCodeFromText = {
  name: "no-code-from-text",
  setup(b) {
    b.onLoad({ filter: /apache-arrow[\\/]builder[\\/]valid\.mjs$/ }, () => ({
      contents: 'export function createIsValidFunction() { throw new Error("the viewer does not write Arrow"); }',
      loader: "js",
    }));
  },
};

// A text decoder takes a byte order mark at the start of a text for no part of it, and two labels would look the same.
const wholeTexts = {
  name: "whole-texts",
  setup(b) {
    b.onLoad({ filter: /apache-arrow[\\/]util[\\/]utf8\.mjs$/ }, ({ path }) => {
      const text = readFileSync(path, "utf8");
      const contents = text.replace("new TextDecoder('utf-8')", "new TextDecoder('utf-8', { ignoreBOM: true })");
      if (contents === text) throw new Error("apache-arrow makes its decoder of text in another way now");
      return { contents, loader: "js" };
    });
  },
};

const worker = await build({ ...shared, entryPoints: ["src/worker.ts"], plugins: [noCodeFromText, wholeTexts] });
const workerText = worker.outputFiles[0].text;

const workerAsText = {
  name: "worker-as-text",
  setup(b) {
    b.onResolve({ filter: /^worker:text$/ }, () => ({ path: "worker:text", namespace: "worker" }));
    b.onLoad({ filter: /.*/, namespace: "worker" }, () => ({ contents: workerText, loader: "text" }));
  },
};

const page = await build({
  ...shared,
  entryPoints: { viewer: "src/main.tsx" },
  outdir,
  plugins: [workerAsText],
});

/** Packages whose code is in a bundle, from the paths of its inputs. */
function packages(...results) {
  const names = new Set();
  for (const input of results.flatMap((r) => Object.keys(r.metafile.inputs))) {
    const match = /node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*node_modules\/)/.exec(input);
    if (match) names.add(match[1]);
  }
  return [...names].sort();
}

function licence(name) {
  const folder = join(home, "node_modules", name);
  const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const files = readdirSync(folder).filter((f) => /^(licen[cs]e|notice)/i.test(f)).sort();
  const texts = files.map((f) => readFileSync(join(folder, f), "utf8").trim());
  return `${name} ${version} (${license})\n\n${texts.join("\n\n") || "No licence text in the package."}\n`;
}

mkdirSync(outdir, { recursive: true });
const line = "-".repeat(80);
const notice = "Packages whose code is part of viewer.js and viewer.css, with their licences.\n";
const licences = [notice, ...packages(worker, page).map(licence)].join(`\n${line}\n\n`);
writeFileSync(join(outdir, "LICENSES.txt"), licences.replace(/\r\n/g, "\n"));

for (const { path, text } of page.outputFiles) {
  const name = path.endsWith(".css") ? "viewer.css" : "viewer.js";
  // What would end the element that the text is put into, and what the page's policy would stop at run time.
  for (const never of ["</script", "</style", "<!--", "new Function(", "eval("]) {
    if (text.toLowerCase().includes(never.toLowerCase())) throw new Error(`${name} holds ${never}`);
  }
  const banner = "/*! candle-graph viewer; licences of what it is made of: LICENSES.txt */\n";
  writeFileSync(join(outdir, name), banner + text);
  console.log(`${name}  ${(text.length / 1024).toFixed(1)} KiB`);
}

/**
 * The size of a minimal agent, bundled, minified and compressed, beside the recorded one (`scripts/budgets.json`).
 *
 * Fails where it grows by more than two per cent; `--write` records the size of now. Built packages are measured: run
 * `pnpm build` or `pnpm types` before.
 */
import { build } from "esbuild"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { gzipSync } from "node:zlib"

const root = join(import.meta.dirname, "..")
const record = join(root, "scripts/budgets.json")

const bundle = await build({
  entryPoints: [join(root, "benchmarks/src/minimal/recourse.ts")],
  bundle: true,
  minify: true,
  write: false,
  format: "esm",
  platform: "node",
  target: "node24",
  logLevel: "error",
  plugins: [{
    name: "as published",
    setup: (build) =>
      build.onResolve({ filter: /^@recourse\/core\// }, ({ path }) => ({
        path: join(root, "packages/core/dist", `${path.split("/")[2]}.js`)
      }))
  }]
})
const size = gzipSync(bundle.outputFiles[0]!.contents).length
const budgets = JSON.parse(readFileSync(record, "utf8")) as { minimalAgentGzipBytes: number }
if (process.argv.includes("--write")) {
  writeFileSync(record, `${JSON.stringify({ ...budgets, minimalAgentGzipBytes: size }, undefined, 2)}\n`)
}
process.stdout.write(`A minimal agent: ${size} bytes gzip; recorded: ${budgets.minimalAgentGzipBytes}\n`)
process.exitCode = size <= budgets.minimalAgentGzipBytes * 1.02 || process.argv.includes("--write") ? 0 : 1

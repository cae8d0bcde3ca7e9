/**
 * The size of a minimal agent, compared to the recorded one (`scripts/budgets.json`): bytes of its bundle, minified and compressed, and
 * modules of the core and of effect that Node.js loads for it without a bundler.
 *
 * Fails if one grows by more than two per cent; `--write` records the sizes. Built packages are measured: run `pnpm build` or
 * `pnpm types` before.
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
  metafile: true,
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
const modulesOf = (folder: string) => Object.keys(bundle.metafile.inputs).filter((path) => path.includes(folder)).length

const sizes: Readonly<Record<string, number>> = {
  minimalAgentGzipBytes: gzipSync(bundle.outputFiles[0]!.contents).length,
  minimalAgentCoreModules: modulesOf("packages/core/dist/"),
  minimalAgentEffectModules: modulesOf("/effect/dist/")
}
const isWritten = process.argv.includes("--write")
if (isWritten) writeFileSync(record, `${JSON.stringify(sizes, undefined, 2)}\n`)
const budgets = JSON.parse(readFileSync(record, "utf8")) as Readonly<Record<string, number>>
for (const [name, size] of Object.entries(sizes)) {
  const budget = budgets[name] ?? 0
  process.stdout.write(`${name}: ${size}; recorded: ${budget}\n`)
  if (size > budget * 1.02) process.exitCode = 1
}

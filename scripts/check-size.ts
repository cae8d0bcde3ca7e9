/**
 * The size of a minimal agent, compared to the recorded one (`scripts/budgets.json`), of the core as it is published:
 *
 * - bytes of its bundle, minified and compressed;
 * - files and bytes that Node.js loads for it without a bundler: of the core, and of effect beyond those of the same program on
 *   effect/ai. The time of an import follows them, and they are the same on each machine;
 * - bytes of bundles of small public modules, without the code of the others.
 *
 * Fails if one grows by more than two per cent; `--write` records the sizes.
 */
import { build } from "esbuild"
import { execFileSync } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { gzipSync } from "node:zlib"
import { installPackedCore } from "./packedCore.ts"

const root = join(import.meta.dirname, "..")
const record = join(root, "scripts/budgets.json")
const folder = await installPackedCore()

const gzipBytes = async (code: string): Promise<number> => {
  const bundle = await build({
    stdin: { contents: code, resolveDir: folder, loader: "ts" },
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    platform: "node",
    target: "node24",
    logLevel: "error"
  })
  return gzipSync(bundle.outputFiles[0]!.contents).length
}

/** Names the files that an import loads, and their sizes, when the process ends. */
const listing = `import { registerHooks } from "node:module"
const files = []
registerHooks({
  load: (url, context, next) => {
    const module = next(url, context)
    if (url.startsWith("file:")) files.push([url, module.source.length])
    return module
  }
})
await import(process.argv[1])
process.stdout.write(JSON.stringify(files))
process.exit()`

interface Loaded {
  readonly files: number
  readonly bytes: number
}

const loaded = async (program: string, from: string): Promise<Loaded> => {
  const file = join(folder, "program.mjs")
  await build({
    entryPoints: [program],
    outfile: file,
    bundle: true,
    packages: "external",
    format: "esm",
    platform: "node",
    logLevel: "error"
  })
  const output = execFileSync(
    process.execPath,
    ["--input-type=module", "--eval", listing, pathToFileURL(file).href],
    { encoding: "utf8", maxBuffer: 2 ** 26 }
  )
  const files = (JSON.parse(output) as ReadonlyArray<readonly [url: string, bytes: number]>)
    .filter(([url]) => url.includes(from))
  return { files: files.length, bytes: files.reduce((sum, [, bytes]) => sum + bytes, 0) }
}

const minimal = join(root, "benchmarks/src/minimal/recourse.ts")
const ofCore = await loaded(minimal, "/@recourse/core/")
const ofEffect = await loaded(minimal, "/effect/dist/")
const ofEffectAi = await loaded(join(root, "benchmarks/src/minimal/effectAi.ts"), "/effect/dist/")

const small = ["RunUsage", "JsonText", "TextCall", "Reconciliation"]
const sizes: Readonly<Record<string, number>> = {
  minimalAgentGzipBytes: await gzipBytes(readFileSync(minimal, "utf8")),
  smallModulesGzipBytes: await gzipBytes(small.map((name) => `export * from "@recourse/core/${name}"`).join("\n")),
  minimalAgentCoreFiles: ofCore.files,
  minimalAgentCoreBytes: ofCore.bytes,
  minimalAgentFilesBeyondEffectAi: ofEffect.files - ofEffectAi.files,
  minimalAgentBytesBeyondEffectAi: ofEffect.bytes - ofEffectAi.bytes
}
const isWritten = process.argv.includes("--write")
if (isWritten) writeFileSync(record, `${JSON.stringify(sizes, undefined, 2)}\n`)
const budgets = JSON.parse(readFileSync(record, "utf8")) as Readonly<Record<string, number>>
for (const [name, size] of Object.entries(sizes)) {
  const budget = budgets[name] ?? 0
  process.stdout.write(`${name}: ${size}; recorded: ${budget}\n`)
  if (size > budget * 1.02) process.exitCode = 1
}

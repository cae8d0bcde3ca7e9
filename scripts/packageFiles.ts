/**
 * Writes the JavaScript of the core as it is published: one file for each public module, and their code in few files that they share.
 *
 * Node takes as long to find and link a file as to read ten kilobytes of it. Bundlers take the same files, and drop what a program
 * does not use (`pureInitialisers.ts`). Declarations are the compiler's.
 */
import { globSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join, relative, resolve } from "node:path"
import { type Plugin, rolldown, RolldownMagicString } from "rolldown"
import { pureInitialisers } from "./pureInitialisers.ts"

const folder = join(import.meta.dirname, "../packages/core")
const src = join(folder, "src")

/** Files that hold all that these public modules load. A module is in the first that loads it. */
const shared: Readonly<Record<string, ReadonlyArray<string>>> = {
  words: [
    "AgentError",
    "Budget",
    "Guardrail",
    "Journal",
    "OutputGuard",
    "Policy",
    "Redaction",
    "ToolError"
  ],
  agent: ["Agent", "Recovery", "Tool"]
}

const pure: Plugin = {
  name: "pure initialisers",
  transform: {
    filter: { id: /\.ts$/ },
    handler: (source, id) => {
      const text = new RolldownMagicString(source)
      for (const { after, before, end, start } of pureInitialisers(source)) {
        text.appendLeft(start, before)
        text.appendRight(end, after)
      }
      return { code: text.toString(), map: text.generateMap({ hires: true, source: id }).toString() }
    }
  }
}

/** The file of each module that is in a shared one. */
const fileOf = new Map<string, string>()

const sharing: Plugin = {
  name: "shared files",
  buildEnd() {
    const visit = (id: string, file: string): void => {
      if (fileOf.has(id) || !id.startsWith(src)) return
      fileOf.set(id, file)
      for (const imported of this.getModuleInfo(id)?.importedIds ?? []) visit(imported, file)
    }
    for (const [file, modules] of Object.entries(shared)) {
      for (const module of modules) visit(join(src, `${module}.ts`), file)
    }
  }
}

/** Builds the files into a folder: by default the package's `dist`, where the declarations are. */
export const writePackageFiles = async (dist = join(folder, "dist")): Promise<void> => {
  for (const file of globSync("**/*.{js,js.map}", { cwd: dist })) rmSync(join(dist, file))
  const modules = globSync("*.ts", { cwd: src }).filter((file) => file !== "index.ts")
  const build = await rolldown({
    input: Object.fromEntries(modules.map((file) => [file.slice(0, -3), join(src, file)])),
    external: [/^effect\//, /^node:/],
    plugins: [pure, sharing],
    transform: { target: "es2024" },
    preserveEntrySignatures: "strict"
  })
  await build.write({
    dir: dist,
    format: "esm",
    sourcemap: true,
    // The sources are next to the folder, wherever it is.
    sourcemapPathTransform: (source, map) =>
      relative(dirname(map), join(dist, "../src", relative(src, resolve(dirname(map), source)))).replaceAll("\\", "/"),
    comments: { annotation: true, legal: true, jsdoc: false },
    // `exports` of the package closes this folder.
    chunkFileNames: "internal/[name].js",
    codeSplitting: {
      groups: [
        ...Object.keys(shared).map((name) => ({ name, test: (id: string) => fileOf.get(id) === name, priority: 1 })),
        { name: "shared", entriesAware: true }
      ]
    }
  })
  const index = readFileSync(join(src, "index.ts"), "utf8")
  writeFileSync(join(dist, "index.js"), index.replaceAll(".ts\"", ".js\""))
}

/**
 * Writes the JavaScript of packages as they are published: one file for each public module, and their code in few files that they share.
 *
 * Node takes as long to find and link a file as to read ten kilobytes of it. Bundlers take the same files, and drop
 * code that a program does not use (`pureInitialisers.ts`). Declarations are the compiler's.
 */
import { globSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, isAbsolute, join, relative, resolve } from "node:path"
import { type Plugin, rolldown, RolldownMagicString } from "rolldown"
import { asciiCode } from "./asciiCode.ts"
import { pureInitialisers } from "./pureInitialisers.ts"

const root = join(import.meta.dirname, "../packages")

/**
 * Packages, and their files with all code of some public modules. A module is in the first file that loads it; modules
 * outside of them are shared by those that load them.
 */
export const sharedFiles = {
  core: {
    words: ["AgentError", "Budget", "Guardrail", "Journal", "OutputGuard", "Policy", "Redaction", "ToolError"],
    agent: ["Agent", "Recovery", "Tool"]
  },
  "openai-compatible": { provider: ["OpenAiCompatible", "Presets"] },
  server: { server: ["Server"] }
} satisfies Readonly<Record<string, Readonly<Record<string, ReadonlyArray<string>>>>>

/** A package whose files are written here. */
export type PackageName = keyof typeof sharedFiles

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

/** Names the shared file of each module, when all modules are known. */
const sharing = (src: string, shared: Readonly<Record<string, ReadonlyArray<string>>>) => {
  const fileOf = new Map<string, string>()
  const plugin: Plugin = {
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
  return { fileOf, plugin }
}

/** Builds the files of a package into a folder: by default its `dist`, which has the declarations. */
export const writePackageFiles = async (name: PackageName, dist = join(root, name, "dist")): Promise<void> => {
  const src = join(root, name, "src")
  const shared = sharedFiles[name]
  for (const file of globSync("**/*.{js,js.map}", { cwd: dist })) rmSync(join(dist, file))
  const modules = globSync("*.ts", { cwd: src }).filter((file) => file !== "index.ts")
  const { fileOf, plugin } = sharing(src, shared)
  const build = await rolldown({
    input: Object.fromEntries(modules.map((file) => [file.slice(0, -3), join(src, file)])),
    external: (id) => !id.startsWith(".") && !isAbsolute(id),
    plugins: [pure, plugin, asciiCode],
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
        ...Object.keys(shared).map((file) => ({
          name: file,
          test: (id: string) => fileOf.get(id) === file,
          priority: 1
        })),
        { name: "shared", entriesAware: true }
      ]
    }
  })
  const index = readFileSync(join(src, "index.ts"), "utf8")
  writeFileSync(join(dist, "index.js"), index.replaceAll(".ts\"", ".js\""))
}

/** Programs of tests that run in processes of their own, each as one file: its hundreds of modules take three times as long to load. */
import { buildSync } from "esbuild"
import { mkdirSync, renameSync, writeFileSync } from "node:fs"
import { join, relative } from "node:path"

// Below the repository, so that modules outside of the file and the compile cache are found.
const root = join(import.meta.dirname, "../..")
const folder = join(root, "node_modules/.cache/programs")

const built = new Map<string, string>()

const build = (program: string): string => {
  const { outputFiles: [output] } = buildSync({
    entryPoints: [program],
    bundle: true,
    write: false,
    platform: "node",
    format: "esm",
    target: "node24",
    // Finds its WebAssembly in its own folder.
    external: ["@electric-sql/*"],
    // Drivers are written for CommonJS.
    banner: {
      js:
        `import { createRequire as requireOf, flushCompileCache as flushCache } from "node:module"; const require = requireOf(import.meta.url);`
    },
    // A process that is killed leaves no compile cache at its end.
    footer: { js: `globalThis.setTimeout(() => flushCache(), 300).unref();` }
  })
  const file = join(folder, `${relative(root, program).replace(/\.ts$/, "").replaceAll(/[\\/]/g, "-")}.mjs`)
  mkdirSync(folder, { recursive: true })
  // Several workers build it at once, and one of them may start another one's output.
  const own = `${file}.${process.pid}`
  writeFileSync(own, output!.contents)
  renameSync(own, file)
  return file
}

/** The file of a program, which is built when it is first asked for. */
export const bundled = (program: string): string => {
  const file = built.get(program) ?? build(program)
  built.set(program, file)
  return file
}

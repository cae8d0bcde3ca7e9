/** Builds the pages into `dist/web`, unless those that are there were built from the sources of now. */
import { createHash } from "node:crypto"
import { existsSync, globSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"

const root = import.meta.dirname
const pages = join(root, "dist/web")
const stamp = join(pages, ".sources")

const digest = (): string => {
  const hash = createHash("sha256")
  const files = globSync(["web/**/*.*", "vite.config.ts", "pages.ts", "package.json"], { cwd: root }).toSorted()
  for (const file of files) hash.update(file).update("\0").update(readFileSync(join(root, file)))
  return hash.digest("hex")
}

/** Builds where it has to; answers whether it did. */
export const buildPages = async (): Promise<boolean> => {
  const sources = digest()
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === sources) return false
  const { build } = await import("vite")
  mkdirSync(join(root, "dist"), { recursive: true })
  // Who reads the pages meanwhile sees the old ones or the new ones.
  const fresh = join(root, `dist/.web-${process.pid}`)
  // A test run has another environment, and React's build of development is twice as large.
  const environment = process.env["NODE_ENV"]
  process.env["NODE_ENV"] = "production"
  await build({ configFile: join(root, "vite.config.ts"), build: { outDir: fresh } })
  if (environment === undefined) delete process.env["NODE_ENV"]
  else process.env["NODE_ENV"] = environment
  writeFileSync(join(fresh, ".sources"), sources)
  rmSync(pages, { recursive: true, force: true })
  renameSync(fresh, pages)
  return true
}

if (import.meta.main) await buildPages()

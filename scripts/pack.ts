/**
 * Builds and packs every package into a folder, and prints the command that installs the archives in a project:
 * `pnpm archives ../recourse-packages`.
 */
import { execFileSync } from "node:child_process"
import { globSync, mkdirSync, rmSync } from "node:fs"
import { join, resolve } from "node:path"

const root = join(import.meta.dirname, "..")
const [folder] = process.argv.slice(2)
if (folder === undefined) {
  process.stderr.write("Name the folder of the archives: pnpm archives ../recourse-packages\n")
  process.exit(1)
}
// pnpm changes to the folder of the workspace, and passes the original one.
const target = resolve(process.env["INIT_CWD"] ?? process.cwd(), folder)

const pnpm = (...args: ReadonlyArray<string>): void => {
  execFileSync("pnpm", args, { cwd: root, stdio: ["ignore", "ignore", "inherit"], shell: process.platform === "win32" })
}

mkdirSync(target, { recursive: true })
for (const archive of globSync("recourse-*.tgz", { cwd: target })) rmSync(join(target, archive))
pnpm("build")
pnpm("--recursive", "--filter", "./packages/*", "pack", "--out", join(target, "%s.tgz"))

const archives = globSync("recourse-*.tgz", { cwd: target }).toSorted().map((archive) => `"${join(target, archive)}"`)
process.stdout.write(`In your project:\n\nnpm install ${archives.join(" ")}\n`)

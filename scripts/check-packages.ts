/** Packs every package as it would be published, checks the archive with publint and attw, and its imports. */
import { execFileSync } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { problemsOf } from "./packageImports.ts"

const root = join(import.meta.dirname, "..")
const target = mkdtempSync(join(tmpdir(), "packages-"))
const run = (command: string, ...args: ReadonlyArray<string>): void => {
  execFileSync(command, args, { cwd: root, stdio: "inherit" })
}

// The compiler leaves the output of deleted sources behind, and the archive would hold it.
const folders = readdirSync(join(root, "packages"))
for (const folder of folders) rmSync(join(root, "packages", folder, "dist"), { recursive: true, force: true })
run("pnpm", "build")

const problems = folders.flatMap((folder) => problemsOf(join(root, "packages", folder)))
if (problems.length > 0) {
  process.stderr.write(`${problems.join("\n")}\n`)
  process.exit(1)
}

for (const folder of folders) {
  const at = join(root, "packages", folder)
  const { name } = JSON.parse(readFileSync(join(at, "package.json"), "utf8")) as { readonly name: string }
  run("pnpm", "--dir", at, "pack", "--pack-destination", target)
  const archive = join(target, readdirSync(target).find((file) => file.endsWith(".tgz"))!)
  process.stdout.write(`${name}\n`)
  run("publint", archive, "--strict")
  run("attw", archive, "--profile", "esm-only", "--exclude-entrypoints", "./*")
  rmSync(archive)
}
rmSync(target, { recursive: true })

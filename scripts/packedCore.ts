/** The core as npm installs it: packed, and unpacked into the `node_modules` of an empty folder, next to effect. */
import { execFileSync } from "node:child_process"
import { globSync, mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { writePackageFiles } from "./packageFiles.ts"

const core = join(import.meta.dirname, "../packages/core")

/** Returns the folder, which is removed when the process ends. Declarations are those of the last build, the rest is of now. */
export const installPackedCore = async (): Promise<string> => {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), "recourse-core-"))
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }))
  const isWindows = process.platform === "win32"
  execFileSync("pnpm", ["pack", "--pack-destination", folder], { cwd: core, stdio: "ignore", shell: isWindows })
  execFileSync("tar", ["-xzf", globSync("*.tgz", { cwd: folder })[0]!], { cwd: folder })
  mkdirSync(join(folder, "node_modules/@recourse"), { recursive: true })
  renameSync(join(folder, "package"), join(folder, "node_modules/@recourse/core"))
  await writePackageFiles("core", join(folder, "node_modules/@recourse/core/dist"))
  symlinkSync(realpathSync(join(core, "node_modules/effect")), join(folder, "node_modules/effect"), "junction")
  return folder
}

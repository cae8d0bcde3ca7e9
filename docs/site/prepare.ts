/** Makes the parts of the site that are not in the repository: the pages of the API, and the playground. */
import { execFileSync } from "node:child_process"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { buildApi } from "./api/build.ts"
import { root } from "./markdown.ts"

await buildApi()

const playground = join(root, "docs/playground")
if (existsSync(join(playground, "package.json"))) {
  execFileSync("pnpm", ["run", "build"], { cwd: playground, stdio: "inherit", shell: process.platform === "win32" })
}

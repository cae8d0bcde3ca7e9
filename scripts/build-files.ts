/** Writes the JavaScript of a package into its `dist`: `node scripts/build-files.ts core`. */
import { type PackageName, sharedFiles, writePackageFiles } from "./packageFiles.ts"

const [name = ""] = process.argv.slice(2)
if (!Object.hasOwn(sharedFiles, name)) throw new Error(`The files of "${name}" are the compiler's`)
await writePackageFiles(name as PackageName)

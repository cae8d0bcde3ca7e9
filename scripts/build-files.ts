/** Writes the JavaScript of the core into its `dist`. */
import { writePackageFiles } from "./packageFiles.ts"

await writePackageFiles()

/** Builds the playground into `docs/public/playground`. The compiler is asked about all programs first. */
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { build } from "vite"
import { programs } from "./src/choice.ts"
import { buildPackages, compile } from "./src/compile.ts"
import { makeArchive } from "./src/types/archive.ts"
import { moduleNames } from "./src/types/compiler.ts"

const generated = join(import.meta.dirname, ".generated")
const files = join(generated, "public")

mkdirSync(files, { recursive: true })
buildPackages()
writeFileSync(join(files, "compiled.json"), JSON.stringify(compile(programs, join(generated, "programs"))))
// Compressed here, because not every host of static files compresses. It has no ending that a host would explain.
const archive = JSON.stringify(makeArchive(import.meta.dirname, moduleNames))
writeFileSync(join(files, "types.bin"), gzipSync(archive, { level: 9 }))
process.env["NODE_ENV"] = "production"
await build({ configFile: join(import.meta.dirname, "vite.config.ts") })

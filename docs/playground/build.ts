/** Builds the playground into `docs/public/playground`. The compiler is asked about all programs first. */
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { build } from "vite"
import { programs } from "./src/choice.ts"
import { compile } from "./src/compile.ts"

const generated = join(import.meta.dirname, ".generated")

const compiled = compile(programs, join(generated, "programs"))
mkdirSync(join(generated, "public"), { recursive: true })
writeFileSync(join(generated, "public/compiled.json"), JSON.stringify(compiled))
process.env["NODE_ENV"] = "production"
await build({ configFile: join(import.meta.dirname, "vite.config.ts") })

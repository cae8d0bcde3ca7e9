/** Types of public signatures are exported. It reads the declarations that `pnpm types` has built. */
import { unexportedTypes } from "../docs/site/api/unexportedTypes.ts"

const found = [...unexportedTypes()].map(([name, user]) => `${name}, of ${user}`)
if (found.length > 0) {
  process.stderr.write(`Export these types, or write their parts into the signature:\n${found.join("\n")}\n`)
  process.exitCode = 1
}

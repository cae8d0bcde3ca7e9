/** Writes the compiler's types into the guides that show them by `// ^?`: `pnpm docs:types`. */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { root } from "./guides.ts"
import { linesOf, shownTypes } from "./shownTypes.ts"

for (const [page, types] of Map.groupBy(shownTypes(), (shown) => shown.page)) {
  const path = join(root, "docs", page)
  let text = readFileSync(path, "utf8")
  let from = 0
  for (const { lines, type } of types) {
    const old = lines.join("\n")
    const index = text.indexOf(old, from)
    const next = linesOf(lines[0]!, type).join("\n")
    text = `${text.slice(0, index)}${next}${text.slice(index + old.length)}`
    from = index + next.length
  }
  writeFileSync(path, text)
}

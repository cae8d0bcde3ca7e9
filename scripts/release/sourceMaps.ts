/** Source maps of a packed package lead to sources that it has. */
import { readFileSync } from "node:fs"
import { join, posix } from "node:path"
import type { PackedPackage } from "./packedPackage.ts"

interface SourceMap {
  readonly sourceRoot?: string
  readonly sources: ReadonlyArray<string>
  readonly sourcesContent?: ReadonlyArray<string | null>
}

const comment = /^\/\/# sourceMappingURL=(?!data:)(\S+)\s*$/m

/** Returns a sentence for each map that a file names and the package lacks, and for each source that a map names and the package lacks. */
export const sourceMapProblems = ({ files, folder, manifest: { name } }: PackedPackage): ReadonlyArray<string> => {
  const shipped = new Set(files)
  const near = (file: string, path: string): string => posix.join(posix.dirname(file), path)
  return files.flatMap((file) => {
    if (/\.(?:js|d\.ts)$/.test(file)) {
      const [, map] = comment.exec(readFileSync(join(folder, file), "utf8")) ?? []
      return map === undefined || shipped.has(near(file, map))
        ? []
        : [`${name}: ${file} names a map, ${map}, that is missing.`]
    }
    if (!file.endsWith(".map")) return []
    const { sourceRoot = "", sources, sourcesContent = [] } = JSON.parse(
      readFileSync(join(folder, file), "utf8")
    ) as SourceMap
    return sources
      .filter((source, index) =>
        typeof sourcesContent[index] !== "string" && !shipped.has(near(file, posix.join(sourceRoot, source)))
      )
      .map((source) => `${name}: ${file} names a source, ${source}, that is missing.`)
  })
}

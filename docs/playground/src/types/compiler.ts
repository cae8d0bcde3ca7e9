/** The language service of the editor: TypeScript over an archive of declaration files, without a disk. */
import ts from "typescript-5"

/** Declaration files and manifests by their path. */
export type Archive = Readonly<Record<string, string>>

export const options: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2023,
  lib: ["lib.es2023.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts"],
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  allowImportingTsExtensions: true,
  noEmit: true,
  strict: true,
  exactOptionalPropertyTypes: true,
  skipLibCheck: true,
  noErrorTruncation: true,
  types: []
}

/** The modules that edited programs can import. */
export const moduleNames = ["effect", "effect/ai", "@recourse/core", "@recourse/json-repair", "@recourse/testing"]

/** A problem of the text. `from` and `to` are its place. */
export interface Problem {
  readonly from: number
  readonly to: number
  readonly message: string
}

/** The compiler's answer about an edited program. */
export interface Checked {
  readonly problems: ReadonlyArray<Problem>
  /** Problems of world.ts. */
  readonly worldProblems: ReadonlyArray<Problem>
  /** The errors of the agent; none if it has no type of its own. */
  readonly errors: ReadonlyArray<string> | undefined
}

const agentFile = "/program/agent.ts"
const worldFile = "/program/world.ts"
const probeFile = "/program/probe.ts"

/** Asks for the error type of the agent. */
const probe = `import type { Agent } from "@recourse/core"
import { agent } from "./agent.ts"
export type Errors = Agent.Error<typeof agent>
`

const problemOf = ({ length = 0, messageText, start = 0 }: ts.Diagnostic): Problem => ({
  from: start,
  to: start + length,
  message: ts.flattenDiagnosticMessageText(messageText, "\n").replaceAll(/import\("[^"]*\/([^/"]+)"\)/g, "$1")
})

/** The language service of an archive. */
export type Compiler = ReturnType<typeof makeCompiler>

/** Makes the language service of an archive. */
export const makeCompiler = (archive: Archive) => {
  const program = new Map<string, { text: string; version: number }>([[probeFile, { text: probe, version: 1 }]])
  const textOf = (file: string): string | undefined => program.get(file)?.text ?? archive[file]
  const folders = new Set(["/", "/program"])
  for (const file of Object.keys(archive)) {
    for (let end = file.lastIndexOf("/"); end > 0; end = file.lastIndexOf("/", end - 1)) folders.add(file.slice(0, end))
  }
  const host: ts.LanguageServiceHost = {
    getCompilationSettings: () => options,
    getScriptFileNames: () => [...program.keys()],
    getScriptVersion: (file) => String(program.get(file)?.version ?? 0),
    getScriptSnapshot: (file) => {
      const text = textOf(file)
      return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text)
    },
    getCurrentDirectory: () => "/program",
    getDefaultLibFileName: () => "/lib/lib.es2023.full.d.ts",
    fileExists: (file) => textOf(file) !== undefined,
    readFile: textOf,
    directoryExists: (folder) => folders.has(folder)
  }
  const service = ts.createLanguageService(host)
  const write = (file: string, text: string): void => {
    const known = program.get(file)
    if (known === undefined) program.set(file, { text, version: 1 })
    else if (known.text !== text) program.set(file, { text, version: known.version + 1 })
  }

  const problemsOf = (file: string): ReadonlyArray<Problem> => {
    const syntax = service.getSyntacticDiagnostics(file)
    return (syntax.length > 0 ? syntax : service.getSemanticDiagnostics(file)).map(problemOf)
  }

  const errorsOf = (): ReadonlyArray<string> | undefined => {
    const made = service.getProgram()!
    const checker = made.getTypeChecker()
    const source = made.getSourceFile(probeFile)!
    const alias = source.statements.find(ts.isTypeAliasDeclaration)!
    const type = checker.getTypeAtLocation(alias.name)
    if (type.flags & (ts.TypeFlags.Any | ts.TypeFlags.Unknown)) return undefined
    const members = type.isUnion() ? type.types : [type]
    return members.filter(({ flags }) => !(flags & ts.TypeFlags.Never)).map((member) => checker.typeToString(member))
      .toSorted()
  }

  return {
    /** Returns the type at a place of agent.ts. */
    typeAt: (position: number): string | undefined => {
      const parts = service.getQuickInfoAtPosition(agentFile, position)?.displayParts
      return parts === undefined ? undefined : ts.displayPartsToString(parts)
    },
    /** Checks both files, and reads the errors of the agent. */
    check: (agent: string, world: string): Checked => {
      write(worldFile, world)
      write(agentFile, agent)
      return { problems: problemsOf(agentFile), worldProblems: problemsOf(worldFile), errors: errorsOf() }
    }
  }
}

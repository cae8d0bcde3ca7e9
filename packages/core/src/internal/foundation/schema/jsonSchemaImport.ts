/**
 * Makes an Effect Schema of a JSON Schema, by effect's importer. Keywords that the importer cannot check are found by
 * path and name. They are left out by name or the schema is refused, and never ignored silently.
 */
import * as JsonSchema from "effect/JsonSchema"
import * as Schema from "effect/Schema"
import * as SchemaRepresentation from "effect/SchemaRepresentation"
import { isMisformed } from "./jsonSchemaKeywords.ts"
import { type Place, pointer, rebuild, withKeywords } from "./jsonSchemaNodes.ts"

/**
 * Options to import a JSON Schema.
 *
 * @category options
 * @since 0.2.0
 */
export interface JsonSchemaOptions {
  /**
   * Keywords that may stay unchecked if they cannot be checked, such as `["if", "not"]`; `"any"` for schemas of others.
   * Default: none, and a schema with such a keyword is refused.
   */
  readonly unchecked?: "any" | ReadonlyArray<string> | undefined
  /**
   * Treatment of regular expressions (`pattern`, `patternProperties`). A stranger's expression can block the process
   * for minutes, so use `"apply"` only in schemas of your own. Default: `"ignore"`, and the tool lists them as
   * unchecked.
   */
  readonly patterns?: "apply" | "ignore" | undefined
  /** The draft of the schema. Default: that of `$schema`; 2020-12 without one, draft 7 if it has `definitions`. */
  readonly draft?: "draft-07" | "draft-2020-12" | undefined
}

/**
 * A JSON Schema as an Effect Schema.
 *
 * @category models
 * @since 0.2.0
 */
export interface ImportedJsonSchema {
  readonly schema: Schema.Codec<unknown>
  /** Unchecked parts, as JSON pointers into the schema (drafts before 2020-12 are converted first). */
  readonly unchecked: ReadonlyArray<string>
}

/** A schema cannot be checked: the keywords by their places, or all of it, and the importer's words. */
export class NotCheckable extends Error {
  readonly unchecked: ReadonlyArray<string>
  constructor(unchecked: ReadonlyArray<string>, problem: string) {
    super(problem)
    this.unchecked = unchecked
  }
}

type Json = JsonSchema.JsonSchema

const rootKey = "root"

const draftOf = (document: Json, { draft }: JsonSchemaOptions): "draft-07" | "draft-2020-12" => {
  if (draft !== undefined) return draft
  const said = typeof document.$schema === "string" ? document.$schema : undefined
  if (said !== undefined) return /draft-0[4-7]\/schema/.test(said) ? "draft-07" : "draft-2020-12"
  return Object.hasOwn(document, "definitions") && !Object.hasOwn(document, "$defs") ? "draft-07" : "draft-2020-12"
}

/** A document, and the name of the definition that is its root, if it is one. */
interface Rooted extends JsonSchema.Document<"draft-2020-12"> {
  readonly root: string | undefined
}

/** Brings references to the root, and into it, to a form that the importer follows: the root as a definition. */
const rooted = ({ definitions, dialect, schema }: JsonSchema.Document<"draft-2020-12">): Rooted => {
  const key = Object.hasOwn(definitions, rootKey) ? `${rootKey}-${Object.keys(definitions).length}` : rootKey
  let isReferred = false
  const rewritten = (part: unknown): Json =>
    rebuild(part, [], (node) => {
      const { $ref } = node
      if (typeof $ref !== "string" || ($ref !== "#" && !$ref.startsWith("#/")) || $ref.startsWith("#/$defs/")) {
        return node
      }
      isReferred = true
      return { ...node, $ref: `#/$defs/${key}${$ref.slice(1)}` }
    }) as Json
  const { $id: _id, $schema: _schema, ...root } = rewritten(schema)
  const defined = Object.fromEntries(Object.entries(definitions).map(([name, one]) => [name, rewritten(one)]))
  return isReferred
    ? { dialect, schema: { $ref: `#/$defs/${key}` }, definitions: { ...defined, [key]: root }, root: key }
    : { dialect, schema: root, definitions: defined, root: undefined }
}

const problemOf = (error: unknown): string => error instanceof Error ? error.message : String(error)

/** The importer's schema of a document, or its message. */
const attempt = (document: JsonSchema.Document<"draft-2020-12">, patterns: "apply" | "ignore") => {
  try {
    return { schema: SchemaRepresentation.fromJsonSchemaDocument(document, { patterns }) }
  } catch (error) {
    return { problem: problemOf(error) }
  }
}

/** Keywords that are removed from a schema, from those that are seldom checkable on. */
const order = [
  "if",
  "not",
  "contains",
  "dependentRequired",
  "dependentSchemas",
  "unevaluatedItems",
  "unevaluatedProperties",
  "$dynamicRef",
  "const",
  "enum",
  "pattern",
  "patternProperties",
  "propertyNames",
  "additionalProperties",
  "oneOf",
  "anyOf",
  "allOf",
  "$ref",
  "items",
  "prefixItems",
  "properties"
]

const withoutReferences = (schema: Json) =>
  rebuild(schema, [], (node) => withKeywords(node, (keyword) => keyword !== "$ref")) as Json

/** Removes from each schema, the inmost first, keywords that the importer does not support. Reports each keyword. */
const reduced = (
  document: Rooted,
  patterns: "apply" | "ignore",
  reportProblem: (place: Place, problem: string) => void,
  withReferences: boolean
): Rooted => {
  const definitions = { ...document.definitions }
  const imports = (schema: Json) =>
    attempt({
      dialect: "draft-2020-12",
      schema: withReferences ? schema : withoutReferences(schema),
      definitions
    }, patterns)
  const reduce = (part: unknown, place: Place) =>
    rebuild(part, place, (node, at) => {
      let rest = node
      let { problem } = imports(rest)
      for (const keyword of order) {
        if (problem === undefined) break
        if (!Object.hasOwn(rest, keyword)) continue
        const without = withKeywords(rest, (other) => other !== keyword)
        const left = imports(without).problem
        // It is this keyword, or it is one of several.
        if (left === problem) continue
        reportProblem([...at, keyword], problem)
        rest = without
        problem = left
      }
      if (problem === undefined) return rest
      reportProblem(at, problem)
      return {}
    }) as Json
  for (const name of Object.keys(definitions)) {
    definitions[name] = reduce(definitions[name], name === document.root ? [] : ["$defs", name])
  }
  return {
    ...document,
    definitions,
    schema: document.root === undefined ? reduce(document.schema, []) : document.schema
  }
}

/** Removes and reports keywords that the importer would ignore: those in an invalid form. */
const unsaid = (document: Rooted, reportProblem: (place: Place, problem: string) => void): Rooted => {
  const clean = (part: unknown, place: Place) =>
    rebuild(part, place, (node, at) =>
      withKeywords(node, (keyword) => {
        const misformed = isMisformed(node, keyword)
        if (misformed) reportProblem([...at, keyword], `"${keyword}" is not as JSON Schema has it`)
        return !misformed
      })) as Json
  return {
    ...document,
    schema: clean(document.schema, []),
    definitions: Object.fromEntries(
      Object.entries(document.definitions).map(([name, one]) => [
        name,
        clean(one, name === document.root ? [] : ["$defs", name])
      ])
    )
  }
}

/** Number of schemas that are searched for unchecked keywords: the time of that grows with the square. */
const maxSearched = 2_000

/** Number of schemas in a document. */
const sizeOf = ({ definitions, schema }: Rooted): number => {
  let size = 0
  for (const part of [schema, ...Object.values(definitions)]) {
    rebuild(part, [], (node) => {
      size++
      return node
    })
  }
  return size
}

/** Returns the paths of a document's patterns. */
const patternsIn = (document: Rooted): ReadonlyArray<string> => {
  const found: Array<string> = []
  const look = (part: unknown, place: Place) =>
    rebuild(part, place, (node, at) => {
      for (const keyword of ["pattern", "patternProperties"]) {
        if (Object.hasOwn(node, keyword)) found.push(pointer([...at, keyword]))
      }
      return node
    })
  look(document.schema, [])
  for (const [name, one] of Object.entries(document.definitions)) {
    look(one, name === document.root ? [] : ["$defs", name])
  }
  return found
}

/**
 * Makes an Effect Schema of a JSON Schema. Throws {@link NotCheckable} for keywords that are neither checked nor left
 * out by name.
 */
export const importJsonSchema = (document: Json, options: JsonSchemaOptions = {}): ImportedJsonSchema => {
  const { patterns = "ignore", unchecked: allowed = [] } = options
  const left: Array<readonly [place: string, keyword: string | undefined, problem: string]> = []
  const reportProblem = (place: Place, problem: string) => {
    left.push([pointer(place), place.at(-1), problem])
  }
  const isAllowed = (keyword: string | undefined) =>
    allowed === "any" || (keyword !== undefined && allowed.includes(keyword))
  try {
    const read = draftOf(document, options) === "draft-07"
      ? JsonSchema.fromSchemaDraft07(document)
      : JsonSchema.fromSchemaDraft2020_12(document)
    const given = unsaid(rooted(read), reportProblem)
    let made = attempt(given, patterns)
    let importable = given
    if (made.schema === undefined) {
      if (sizeOf(given) > maxSearched) throw new NotCheckable([""], made.problem)
      importable = reduced(reduced(given, patterns, reportProblem, false), patterns, reportProblem, true)
      made = attempt(importable, patterns)
    }
    const refused = left.filter(([, keyword]) => !isAllowed(keyword))
    if (refused.length > 0) throw new NotCheckable(refused.map(([place]) => place), refused[0]![2])
    if (made.schema === undefined) throw new NotCheckable([""], made.problem ?? "")
    const ignored = patterns === "ignore" ? patternsIn(importable) : []
    return {
      schema: made.schema as Schema.Codec<unknown>,
      unchecked: [...new Set([...left.map(([place]) => place), ...ignored])]
    }
  } catch (error) {
    if (allowed === "any") return { schema: Schema.Unknown, unchecked: [""] }
    throw error instanceof NotCheckable ? error : new NotCheckable([""], problemOf(error))
  }
}

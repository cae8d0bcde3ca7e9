/** JSON forms: JSON representations of other values, such as dates, and null for an absent optional field. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"

type Decode<A, R> = (value: unknown, options?: SchemaAST.ParseOptions) => Effect.Effect<A, Schema.SchemaError, R>

const partsOf = (ast: SchemaAST.AST): ReadonlyArray<SchemaAST.AST> => {
  switch (ast._tag) {
    case "Objects":
      return [...ast.propertySignatures, ...ast.indexSignatures].map(({ type }) => type)
    case "Arrays":
      return [...ast.elements, ...ast.rest]
    case "Union":
      return ast.types
    case "Suspend":
      return [ast.thunk()]
    default:
      return []
  }
}

/** True if JSON has another form for the values of a type: text for dates and bigints, null for undefined. */
const isNoJson = (ast: SchemaAST.AST): boolean =>
  SchemaAST.isDeclaration(ast) || SchemaAST.isBigInt(ast) || SchemaAST.isUndefined(ast) || SchemaAST.isVoid(ast) ||
  (SchemaAST.isLiteral(ast) && typeof ast.literal === "bigint")

/** True if the encoded side of a schema contains values with another form in JSON. */
const hasOthers = (schema: Schema.Top): boolean => {
  if (Schema.toCodecJson(schema).ast === schema.ast) return false
  const seen = new Set<SchemaAST.AST>()
  const left = [SchemaAST.toEncoded(schema.ast)]
  for (let ast = left.pop(); ast !== undefined; ast = left.pop()) {
    if (seen.has(ast)) continue
    seen.add(ast)
    if (isNoJson(ast)) return true
    left.push(...partsOf(ast))
  }
  return false
}

/** The schema of the JSON form of a schema's values, which is the schema itself if that is their own form. */
export const inJsonForm = <S extends Schema.Top>(schema: S): S =>
  hasOthers(schema) ? Schema.toCodecJson(schema) as unknown as S : schema

/** True if all numbers of a value have a JSON form: effect writes `NaN` as text, and no model may answer with that. */
const isFinite = (value: unknown, depth = 100): boolean => {
  if (typeof value === "number") return Number.isFinite(value)
  if (typeof value !== "object" || value === null || depth === 0) return true
  const items = Symbol.iterator in value ? [...value as Iterable<unknown>] : Object.values(value)
  return value instanceof Uint8Array || items.every((item) => isFinite(item, depth - 1))
}

/**
 * Decodes JSON that a model wrote: directly, or, if a schema encodes to values without a JSON form, by the form that
 * the model receives. Issues are those of that form.
 */
export const decoderOfJson = <A, R>(schema: Schema.Decoder<A, R>): Decode<A, R> => {
  const decode: Decode<A, R> = Schema.decodeUnknownEffect(schema)
  let form: Decode<A, R> | false | undefined
  return (value, options) =>
    Effect.catch(decode(value, options), (error) => {
      form ??= hasOthers(schema) && (Schema.decodeUnknownEffect(Schema.toCodecJson(schema)) as Decode<A, R>)
      if (form === false) return Effect.fail(error)
      const read = form(value, options)
      return Effect.flatMap(read, (read) => isFinite(read) ? Effect.succeed(read) : Effect.fail(error))
    })
}

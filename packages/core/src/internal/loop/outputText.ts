/** Output text: reads an agent's output from a model's final text. */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import * as AiTool from "effect/ai/Tool"
import type { Issue } from "../../ToolError.ts"
import { embeddedJson } from "../foundation/embeddedJson.ts"
import { describe, fromIssue } from "../foundation/schemaIssues.ts"

export interface OutputReader {
  /** What the model is told about the form of its answer; nothing for plain text. */
  readonly instructions: string | undefined
  readonly isText: boolean
  readonly schema: Schema.Top
  readonly read: (text: string) => Effect.Effect<Result.Result<unknown, ReadonlyArray<Issue>>, never, unknown>
}

const syntax: ReadonlyArray<Issue> = [{ path: [], expected: "expected JSON and nothing else", problem: "syntax" }]

const parse = (text: string): Result.Result<unknown, ReadonlyArray<Issue>> =>
  Result.try({ try: () => AiTool.unsafeSecureJsonParse(text), catch: () => syntax })

/** Whether a schema's values are written as text: no JSON around them. */
export const isText = (schema: Schema.Top): boolean => SchemaAST.isString(Schema.toEncoded(schema).ast)

export const outputReader = (schema: Schema.Top): OutputReader => {
  const text = isText(schema)
  const decode = Schema.decodeUnknownEffect(schema)
  const read = (value: unknown) =>
    Effect.map(
      Effect.result(decode(value, { errors: "all", reportInput: true })),
      Result.mapError((error) => fromIssue(error.issue, { messages: true }))
    )
  return {
    isText: text,
    schema,
    instructions: text
      ? undefined
      : `When you are done, answer with JSON and nothing else, matching this JSON schema: ${
        JSON.stringify(AiTool.getJsonSchemaFromSchema(schema))
      }`,
    read: (answer) =>
      text
        ? read(answer)
        : Result.match(parse(embeddedJson(answer)), {
          onFailure: (issues) => Effect.succeed(Result.fail(issues)),
          onSuccess: read
        })
  }
}

/** What the model is told when its answer does not fit. */
export const correction = (issues: ReadonlyArray<Issue>): string =>
  `Your answer does not fit: ${describe(issues)}. Answer again.`

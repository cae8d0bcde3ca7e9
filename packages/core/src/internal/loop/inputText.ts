/** Input text: writes an agent's input as the user's message. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { InvalidInput } from "../../AgentError.ts"
import { isText } from "./outputText.ts"
import { fromIssue } from "../foundation/schemaIssues.ts"

export interface InputWriter {
  readonly write: (input: unknown) => Effect.Effect<string, InvalidInput, unknown>
}

/** A value as a message says it. */
export const textOf = (value: unknown): string =>
  typeof value === "string" ? value : JSON.stringify(value) ?? String(value)

export const inputWriter = (agent: string, schema: Schema.Top): InputWriter => {
  const encode = Schema.encodeUnknownEffect(schema)
  const text = isText(schema) ? String : textOf
  return {
    write: (input) =>
      Effect.mapBothEager(encode(input, { errors: "all" }), {
        onFailure: (error) => new InvalidInput({ agent, issues: fromIssue(error.issue) }),
        onSuccess: text
      })
  }
}

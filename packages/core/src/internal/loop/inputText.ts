/** Input text: writes an agent's input as the user's message. */
import * as Prompt from "effect/ai/Prompt"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { InvalidInput } from "../../AgentError.ts"
import { isText } from "./outputText.ts"
import { fromIssue } from "../foundation/schema/schemaIssues.ts"

/** A valid input as text: made on reading, because a conversation is long, and its agent uses it message by message. */
export type InputText = () => string

export interface InputWriter {
  readonly write: (input: unknown) => Effect.Effect<InputText, InvalidInput, unknown>
}

/** A value as a message says it. */
export const textOf = (value: unknown): string =>
  typeof value === "string" ? value : JSON.stringify(value) ?? String(value)

export const inputWriter = (agent: string, schema: Schema.Top): InputWriter => {
  const encode = Schema.encodeUnknownEffect(schema)
  const fits = Schema.is(schema)
  const text = isText(schema) ? String : textOf
  return {
    write: (input) =>
      Prompt.isPrompt(input) && fits(input)
        ? Effect.succeed(() => textOf(Schema.encodeUnknownSync(schema as Schema.Encoder<unknown>)(input)))
        : Effect.mapBothEager(encode(input, { errors: "all" }), {
          onFailure: (error) => new InvalidInput({ agent, issues: fromIssue(error.issue) }),
          onSuccess: (encoded): InputText => () => text(encoded)
        })
  }
}

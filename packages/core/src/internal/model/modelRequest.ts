/** Model requests: the request to a model, and the form of its answer. */
import type * as LanguageModel from "effect/ai/LanguageModel"
import type * as Prompt from "effect/ai/Prompt"
import type * as AiTool from "effect/ai/Tool"
import type * as Toolkit from "effect/ai/Toolkit"
import type * as Schema from "effect/Schema"

/** A request to a model. */
export interface Request {
  readonly prompt: Prompt.Prompt
  readonly toolkit: Toolkit.Toolkit<Record<string, AiTool.Any>>
  readonly toolChoice?: LanguageModel.ToolChoice<string> | undefined
  readonly format?: Format | undefined
}

/** The form of an answer, if the provider can enforce it. */
export interface Format {
  readonly objectName: string
  readonly schema: Schema.Top
  /** Precedence for a provider that cannot have both in one request. */
  readonly prefer: "tools" | "format"
}

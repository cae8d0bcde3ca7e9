/** Model calls that resolve no tools: what the model said comes back as it is. */
import { Effect, type Stream } from "effect"
import type { AiError, LanguageModel, Prompt, Response, Tool as AiTool, Toolkit } from "effect/ai"

/** What a model is asked. */
export interface Request {
  readonly prompt: Prompt.Prompt
  readonly toolkit: Toolkit.Toolkit<Record<string, AiTool.Any>>
  readonly toolChoice?: LanguageModel.ToolChoice<string> | undefined
}

const options = (request: Request) => ({
  prompt: request.prompt,
  toolkit: request.toolkit,
  toolChoice: request.toolChoice ?? "auto",
  disableToolCallResolution: true,
  toolCallValidation: "deferred"
} as const)

// Parameters are neither decoded nor encoded in deferred mode, so the services of their schemas are not needed.

/** The parts of a whole answer. */
export const generate = (
  model: LanguageModel.LanguageModel,
  request: Request
): Effect.Effect<ReadonlyArray<Response.AnyPart>, AiError.AiError> =>
  Effect.map(model.generateText(options(request)), (response) => response.content) as unknown as Effect.Effect<
    ReadonlyArray<Response.AnyPart>,
    AiError.AiError
  >

/** The parts of a streamed answer. */
export const stream = (
  model: LanguageModel.LanguageModel,
  request: Request
): Stream.Stream<Response.AnyPart, AiError.AiError> =>
  model.streamText(options(request)) as unknown as Stream.Stream<Response.AnyPart, AiError.AiError>

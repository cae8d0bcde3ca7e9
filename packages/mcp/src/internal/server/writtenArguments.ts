/** The arguments of a call as its client wrote them. effect parses a request before a tool is called, and loses digits of numbers. */
import * as JsonText from "@recourse/core/JsonText"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as McpSchema from "effect/ai/McpSchema"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import { own } from "../client/messages.ts"
import { writtenField } from "./exactStdio.ts"
import { canonical } from "./request.ts"

/** Paths to the messages of a body that may be this call: a batch has several messages. */
const pathsOf = (body: unknown, tool: string, args: unknown): ReadonlyArray<ReadonlyArray<number>> => {
  if (!Array.isArray(body)) return [[]]
  const isCall = ({ params }: { readonly params?: unknown }) =>
    Predicate.isReadonlyObject(params) && params["name"] === tool && canonical(params["arguments"]) === canonical(args)
  return body.flatMap((message, index) => Predicate.isReadonlyObject(message) && isCall(message) ? [[index]] : [])
}

/** The arguments of a call over HTTP. */
const overHttp = (
  request: HttpServerRequest.HttpServerRequest,
  tool: string,
  args: unknown
): Effect.Effect<unknown> =>
  Effect.all([request.text, request.json]).pipe(
    Effect.map(([text, body]) =>
      pathsOf(body, tool, args)
        .map((path) => JsonText.argumentsAt(text, [...path, "params", "arguments"]))
        .find((written) => typeof written === "string") ?? args
    ),
    Effect.orElseSucceed(() => args)
  )

/** The arguments of a call over standard input, of which `layerExactStdio` keeps the text. */
const overStdio = (metadata: unknown, args: unknown): unknown => {
  const written = own(metadata, writtenField)
  return typeof written === "string" && typeof JsonText.argumentsOf(written) === "string" ? written : args
}

/**
 * Returns the text of the arguments if parsing them loses digits or a repeated key, so that the tool refuses them; otherwise the
 * parsed arguments. On stdio, effect's transport has consumed the text unless `layerExactStdio` keeps it.
 */
export const writtenArguments = (
  tool: string,
  args: unknown
): Effect.Effect<unknown, never, McpSchema.McpRequestContext> =>
  Effect.contextWith((context: Context.Context<McpSchema.McpRequestContext>) => {
    const request = Option.getOrUndefined(
      Context.getOption(context as Context.Context<never>, HttpServerRequest.HttpServerRequest)
    )
    return request === undefined
      ? Effect.succeed(overStdio(Context.get(context, McpSchema.McpRequestContext).requestMetadata, args))
      : overHttp(request, tool, args)
  })

/** The arguments of a call as its client wrote them. effect parses a request before a tool is called, and loses digits of numbers. */
import * as JsonText from "@recourse/core/JsonText"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import { canonical } from "./request.ts"

/** Paths to the messages of a body that may be this call: a batch has several messages. */
const pathsOf = (body: unknown, tool: string, args: unknown): ReadonlyArray<ReadonlyArray<number>> => {
  if (!Array.isArray(body)) return [[]]
  const isCall = ({ params }: { readonly params?: unknown }) =>
    Predicate.isReadonlyObject(params) && params["name"] === tool && canonical(params["arguments"]) === canonical(args)
  return body.flatMap((message, index) => Predicate.isReadonlyObject(message) && isCall(message) ? [[index]] : [])
}

/**
 * Returns the text of the arguments if parsing them loses digits or a repeated key, so that the tool refuses them; otherwise the
 * parsed arguments. Only HTTP has the text: on stdio, effect's transport has consumed it.
 */
export const writtenArguments = (tool: string, args: unknown): Effect.Effect<unknown> =>
  Effect.contextWith((context: Context.Context<never>) => {
    const request = Option.getOrUndefined(Context.getOption(context, HttpServerRequest.HttpServerRequest))
    if (request === undefined) return Effect.succeed(args)
    return Effect.all([request.text, request.json]).pipe(
      Effect.map(([text, body]) =>
        pathsOf(body, tool, args)
          .map((path) => JsonText.argumentsAt(text, [...path, "params", "arguments"]))
          .find((written) => typeof written === "string") ?? args
      ),
      Effect.orElseSucceed(() => args)
    )
  })

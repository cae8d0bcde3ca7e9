/** Approvals of waiting calls by the person at the client: by elicitation if the client supports it. */
import { approve, type Decision, type PendingCall, reject } from "@recourse/core/Approval"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import * as McpSchema from "effect/ai/McpSchema"

/** Longer arguments are cut in a question, with a notice. */
const maxArguments = 8_000

const argumentsText = (args: unknown): string => {
  const text = JSON.stringify(args, undefined, 2)
  return text.length <= maxArguments
    ? text
    : `${text.slice(0, maxArguments)}\n… (the first ${maxArguments} of ${text.length} characters)`
}

const question = ({ arguments: args, reasons, tool }: PendingCall): string =>
  [`Allow the call of "${tool}" with these arguments?`, argumentsText(args), ...reasons].join("\n\n")

/** The form of a question. */
const form = {
  type: "object",
  properties: { allow: { type: "boolean", title: "Allow this call" } },
  required: ["allow"]
} as const

const paramsOf = (pending: PendingCall) => ({
  mode: "form",
  message: question(pending),
  requestedSchema: form
} as const)

const Answer = Schema.Struct({
  action: Schema.Literals(["accept", "decline", "cancel"]),
  content: Schema.optionalKey(Schema.Unknown)
})

const decodeAnswer = Schema.decodeUnknownOption(Answer)

/** Returns a person's answer. Closing the question is no decision. */
const decisionOf = (pending: PendingCall, answer: unknown): Option.Option<Decision> =>
  Option.flatMap(decodeAnswer(answer), ({ action, content }) =>
    action === "cancel"
      ? Option.none()
      : Option.some(
        action === "accept" && Predicate.isReadonlyObject(content) && content["allow"] === true
          ? approve(pending, { by: "MCP client" })
          : reject(pending, "not allowed", { by: "MCP client" })
      ))

/** True if a client shows forms. */
export const canAsk = ({ clientCapabilities: { elicitation } }: McpSchema.McpRequestContext["Service"]): boolean =>
  elicitation !== undefined && elicitation !== null && (elicitation.form !== undefined || elicitation.url === undefined)

/** Asks about calls one by one, over a session. Returns `None` if one of them stays undecided. */
export const ask = (
  client: McpSchema.McpServerClient["Service"],
  pending: ReadonlyArray<PendingCall>
): Effect.Effect<Option.Option<ReadonlyArray<Decision>>> =>
  Effect.scoped(Effect.gen(function*() {
    const { elicit } = yield* client.getClient
    const decisions: Array<Decision> = []
    for (const call of pending) {
      const params = yield* Effect.orDie(Schema.decodeUnknownEffect(McpSchema.ElicitRequestFormParams)(paramsOf(call)))
      const answer = yield* Effect.option(elicit(params))
      const decision = Option.flatMap(answer, (said) => decisionOf(call, { ...said }))
      if (Option.isNone(decision)) return Option.none()
      decisions.push(decision.value)
    }
    return Option.some(decisions)
  }))

/** The questions to a client without a session: it answers them with its next request. */
export const inputRequests = (
  pending: ReadonlyArray<PendingCall>
): Readonly<Record<string, McpSchema.McpInputRequest>> =>
  Object.fromEntries(
    pending.map((call) => [call.callId, { method: "elicitation/create", params: paramsOf(call) } as const])
  )

/** Decisions in the next request of such a client. */
export const decisionsOf = (
  responses: McpSchema.McpRequestContext["Service"]["inputResponses"] = {},
  pending: ReadonlyArray<PendingCall>
): Option.Option<ReadonlyArray<Decision>> =>
  Option.all(
    pending.map((call) =>
      Object.hasOwn(responses, call.callId) ? decisionOf(call, responses[call.callId]) : Option.none()
    )
  )

/** The client of a session, if the request has one. */
export const sessionOf = (context: Context.Context<never>): Option.Option<McpSchema.McpServerClient["Service"]> =>
  Context.getOption(context, McpSchema.McpServerClient)

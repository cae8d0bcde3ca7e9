/** Handoff: an agent passes a conversation to another agent. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Prompt from "effect/ai/Prompt"
import { ConfigurationError } from "../../../ConfigurationError.ts"
import { ExecutionError } from "../../../ToolError.ts"
import { decodePrompt, encodePrompt } from "../../foundation/json/promptJson.ts"
import { aCap, anObject, checkArgument } from "../../foundation/options/optionCheck.ts"
import { withoutCalls, withTaintOf } from "../../history/remainingCalls.ts"
import { mend } from "../../history/mendHistory.ts"
import type { RunRecord } from "../../run/runEntries.ts"
import { make as makeTool } from "../../tool/makeTool.ts"
import type { Agent, Error, Output, Services } from "../agent.ts"
import { compose, type Composed, type StartError } from "./composedAgent.ts"
import type { TakesConversation } from "./agentFit.ts"
import { HandedOff, Takers } from "./handoffSignal.ts"
import type { Form } from "../resume/valueCodec.ts"
import { anyOf, formsOf, plain } from "../resume/storedValue.ts"
import { FailedBefore } from "./stepOutcome.ts"
import type { Steps } from "./steps.ts"

/**
 * A tool by which a model passes the conversation to another agent: `transfer_to_<name>`. Give it to an agent that
 * {@link handoff} runs. Its error `HandedOff` has to reach the end of the run. Recovery that reports every failure to
 * the model (`Recovery.keepGoing`) would prevent the handoff, so leave this tool out of it.
 *
 * @category constructors
 * @since 0.2.0
 */
export const handoffTo = <const Name extends string>(name: Name, options: { readonly description: string }) =>
  makeTool(`transfer_to_${name}`, {
    description: options.description,
    parameters: Schema.Struct({
      note: Schema.optionalKey(Schema.String.annotate({ description: "Facts that the next agent has to know" }))
    }),
    effects: "read",
    success: Schema.Never,
    execute: ({ note }): Effect.Effect<never, HandedOff> =>
      Effect.flatMap(Takers, (takers) =>
        Effect.fail(
          new HandedOff({
            to: name,
            ...(note === undefined ? undefined : { note }),
            ...(takers === undefined || takers.includes(name) ? undefined : { isRefused: true })
          })
        ))
  })

const handedOff = (error: unknown): (ExecutionError<HandedOff> & { readonly reason: HandedOff }) | undefined =>
  error instanceof ExecutionError && error.reason instanceof HandedOff
    ? error as ExecutionError<HandedOff> & { readonly reason: HandedOff }
    : undefined

/**
 * Returns the next agent's conversation: all messages, without the instructions of the agent before and without the
 * transfer.
 */
const conversationFor = (
  before: Prompt.Prompt,
  { transcript }: RunRecord,
  { callId, reason: { note } }: { readonly callId: string; readonly reason: HandedOff }
): Prompt.Prompt => {
  // By their text: over a pause, messages are others.
  const known = new Set<unknown>(before.content.map(({ content }) => content))
  const said = withoutCalls(transcript, new Set([callId])).content.filter((message) =>
    message.role !== "system" || known.has(message.content)
  )
  const noted = note === undefined ? [] : [Prompt.userMessage({
    content: [
      Prompt.textPart({ text: `Note of the agent before, which was written by a model and not by the user: ${note}` })
    ],
    options: { recourse: { handoff: true } }
  })]
  return mend(withTaintOf(transcript, Prompt.fromMessages([...said, ...noted]))).prompt
}

/** An agent that takes a conversation. */
type Talks = Agent<Prompt.Prompt, unknown, unknown, unknown>

/**
 * Several agents that share a conversation: the one named `start` begins, and each may give it to another one by a tool that
 * {@link handoffTo} makes. The agent that has it answers. It reads all that was said, with its own instructions, and without those of
 * the agent before.
 *
 * The conversation changes hands at most `times` times (default: 5); a further `HandedOff` is the failure of the run. A name that no
 * agent has is a `ConfigurationError`.
 *
 * **Example** (From triage to billing)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Prompt } from "effect/ai"
 * import { Agent } from "@recourse/core"
 * import { ScriptedModel } from "@recourse/testing"
 *
 * const conversation = { input: Prompt.Prompt, prompt: (conversation: Prompt.Prompt) => conversation }
 * const triage = Agent.make("triage", {
 *   ...conversation,
 *   instructions: "Find out who can help.",
 *   tools: [Agent.handoffTo("billing", { description: "Questions about bills" })]
 * })
 * const billing = Agent.make("billing", { ...conversation, instructions: "You know bills." })
 *
 * const support = Agent.handoff("support", { start: "triage", agents: { triage, billing } })
 *
 * await Effect.runPromise(
 *   support.run(Prompt.make("My bill is wrong")).pipe(
 *     Effect.provide(ScriptedModel.layer([
 *       ScriptedModel.call("transfer_to_billing", {}),
 *       ScriptedModel.text("I correct it.")
 *     ])),
 *     Effect.orDie
 *   )
 * ) // => "I correct it."
 * ```
 *
 * @category constructors
 * @since 0.2.0
 */
export const handoff = <const Agents>(
  name: string,
  options: {
    readonly agents: { readonly [K in keyof Agents]: TakesConversation<Agents[K]> }
    readonly start: keyof Agents & string
    readonly times?: number | undefined
  }
): Composed<
  Prompt.Prompt,
  Output<Agents[keyof Agents]>,
  Error<Agents[keyof Agents]>,
  Services<Agents[keyof Agents]>,
  StartError<Agents[keyof Agents]>
> => {
  checkArgument("Agent.handoff", "its options", options, anObject)
  checkArgument("Agent.handoff", "agents", options.agents, anObject)
  const { start, times = 5 } = options
  checkArgument(`Agent "${name}"`, "times", times, aCap)
  const agents = options.agents as Readonly<Record<string, Talks>>
  const find = (to: string): Talks => {
    const found = Object.hasOwn(agents, to) ? agents[to] : undefined
    if (found !== undefined) return found
    throw new ConfigurationError({ subject: `Agent "${name}"`, problem: `it has no agent "${to}" to hand over to` })
  }
  find(start)
  const names = Object.keys(agents)
  /** A handoff to an unknown agent ends the run. A refusal was one of an inner agent. */
  const isFor = (given: HandedOff | undefined) =>
    given !== undefined && (given.isRefused !== true || !names.includes(given.to))
  const step = (
    steps: Steps,
    to: string,
    prompt: Prompt.Prompt,
    left: number,
    replaced: Prompt.Prompt | undefined
  ): Effect.Effect<unknown, unknown, unknown> =>
    Effect.suspend(() => {
      let record: (() => RunRecord) | undefined
      const ran = steps.agent(find(to), prompt, (ended) => {
        record = ended
        steps.said = () => {
          const said = ended()
          const { replacedInput = replaced } = said
          // An agent that was interrupted before its start has no messages: the earlier conversation stays. The first
          // one's guard may not have passed.
          return said.transcript.content.length === 0 && left < times
            ? { transcript: prompt, replacedInput }
            : { ...said, replacedInput }
        }
      }, true)
      const run = Effect.provideService(ran, Takers, left > 0 ? names : [])
      /** Known of the agent that has just given the conversation away; of one before a pause, its transfer is. */
      const next = (error: unknown): Effect.Effect<Transfer> =>
        steps.value(
          "transfer",
          Effect.sync(() => {
            const { callId, reason } = handedOff(error)!
            const given = record!()
            const { replacedInput = replaced } = given
            return {
              to: reason.to,
              prompt: conversationFor(prompt, given, { callId, reason }),
              replaced: replacedInput
            }
          }),
          transfers
        )
      return Effect.catchIf(
        run,
        (error) => left > 0 && (error instanceof FailedBefore || isFor(handedOff(error)?.reason)),
        (error) =>
          Effect.flatMap(next(error), ({ prompt, replaced, to }) => step(steps, to, prompt, left - 1, replaced))
      )
    })
  const parts = Object.values(agents)
  const forms = { input: plain, output: anyOf(parts.map((part) => formsOf(part).output)) }
  return compose(
    name,
    parts,
    forms,
    (steps, prompt: Prompt.Prompt) => step(steps, start, prompt, times, undefined)
  ) as never
}

/** Receiver of a conversation, and its messages. */
interface Transfer {
  readonly to: string
  readonly prompt: Prompt.Prompt
  /** The replacement of the conversation by an earlier agent's guard. */
  readonly replaced: Prompt.Prompt | undefined
}

const transfers: Form = {
  keep: (transfer) => {
    const { prompt, replaced, to } = transfer as Transfer
    return Effect.succeedSome([to, encodePrompt(prompt), ...(replaced === undefined ? [] : [encodePrompt(replaced)])])
  },
  read: (json) =>
    Effect.sync((): Transfer => {
      const [to, prompt, replaced] = json as readonly [string, Schema.Json, Schema.Json?]
      return { to, prompt: decodePrompt(prompt), replaced: replaced === undefined ? undefined : decodePrompt(replaced) }
    })
}

/** Summaries: an agent's words in place of the beginning of a conversation. */
import * as Effect from "effect/Effect"
import * as Prompt from "effect/ai/Prompt"
import { withTaintOf } from "./remainingCalls.ts"
import { checkCount } from "./shortenHistory.ts"
import { from, lastUnits, partsOf } from "./exchanges.ts"

/**
 * Writer of a summary: an agent that takes text and answers text.
 *
 * @category models
 * @since 0.2.0
 */
export interface Summariser<out E, out R> {
  readonly run: (text: string) => Effect.Effect<string, E, R>
}

const textOf = (value: unknown): string => typeof value === "string" ? value : JSON.stringify(value) ?? ""

const line = (role: string, part: Prompt.Part): string | undefined => {
  switch (part.type) {
    case "text":
      return `${role}: ${part.text}`
    case "file":
      return `${role}: [a file of type ${part.mediaType}]`
    case "tool-call":
      return `${role} calls ${part.name}: ${textOf(part.params)}`
    case "tool-result":
      return `${part.name} ${part.isFailure ? "failed" : "answers"}: ${textOf(part.result)}`
    default:
      return undefined
  }
}

/** A conversation as text. Reasoning is left out. */
const transcriptOf = (messages: ReadonlyArray<Prompt.Message>): string =>
  messages.flatMap(({ content, role }) =>
    typeof content === "string" ?
      [`${role}: ${content}`] :
      (content as ReadonlyArray<Prompt.Part>).flatMap((part) => line(role, part) ?? [])
  ).join("\n")

/** Heading of a summary, so that no model takes it for the user's own words. */
const heading = "Summary of the conversation so far, which was written by a model and not by the user:"

/**
 * Returns a conversation whose beginning is an agent's summary; its last messages stay unchanged, cut as by `keepLast`.
 * The summary is a message of a user, marked (`summary` in its `recourse` options). A tainted conversation stays
 * tainted. The calling run pays for the agent's turns and tokens, and has its errors and services. A conversation no
 * longer than the kept part is returned unchanged, without a call of the agent.
 *
 * **Example** (An agent that sums up)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Prompt } from "effect/ai"
 * import { Agent, History } from "@recourse/core"
 *
 * const sumUp = Agent.fromFunction("sum up", (text: string) => Effect.succeed(`${text.split("\n").length} lines`))
 * const say = (text: string) => Prompt.make(text).content
 *
 * const short = await Effect.runPromise(
 *   History.summarised(sumUp, { keep: 1 })(Prompt.fromMessages([...say("Hi"), ...say("I am Ada"), ...say("Who am I?")]))
 * )
 * short.content.map(({ content }) => (content[0] as Prompt.TextPart).text.split("\n").at(-1)) // => ["2 lines", "Who am I?"]
 * ```
 *
 * @category combinators
 * @since 0.2.0
 */
export const summarised = <E, R>(
  agent: Summariser<E, R>,
  options: {
    /** Number of the last messages that stay unchanged. Default: 6. */
    readonly keep?: number | undefined
  } = {}
): (prompt: Prompt.Prompt) => Effect.Effect<Prompt.Prompt, E, R> => {
  const { keep = 6 } = options
  checkCount("History.summarised", keep)
  return (prompt) => {
    const parts = partsOf(prompt)
    const index = lastUnits(parts, keep)
    const recent = from(prompt, parts, index).content.slice(parts.system.length)
    const staying = new Set(recent)
    const gone = parts.units.flat().filter((message) => !staying.has(message))
    if (index === 0 || gone.length === 0) return Effect.succeed(prompt)
    return Effect.map(agent.run(transcriptOf(gone)), (text) => {
      const summary = Prompt.userMessage({
        content: [Prompt.textPart({ text: `${heading}\n${text}` })],
        options: { recourse: { summary: true } }
      })
      return withTaintOf(prompt, Prompt.fromMessages([...parts.system, summary, ...recent]))
    })
  }
}

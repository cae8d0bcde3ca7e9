/** Model of a program: its turns, with the faults that the program has drawn. */
import { AiError, type Prompt } from "effect/ai"
import * as ScriptedModel from "../../ScriptedModel.ts"
import { textOf } from "../text/text.ts"
import { clerk, desk, partner } from "./forms.ts"
import { type Program, toolName } from "./program.ts"

/** The first letter of the ids of calls: those of the agents with tools, and of the one that has the clerk as its tool. */
const letters: Readonly<Record<string, string>> = { [clerk]: "c", [partner]: "p", [desk]: "d" }

/** The ids of the calls since the last question. */
const callsIn = (content: ReadonlyArray<Prompt.Message>): ReadonlyArray<string> =>
  content.slice(1 + content.findLastIndex(({ role }) => role === "user")).flatMap((message) =>
    message.role === "assistant" ? message.content.flatMap((part) => part.type === "tool-call" ? [part.id] : []) : []
  )

/** Number of the conversation's answers, of which the beginning may be gone: the question and the last calls remain. */
const answeredIn = ({ content }: Prompt.Prompt): number => {
  const asked = /\d+/.exec(textOf(content.findLast(({ role }) => role === "user")?.content ?? ""))?.[0] ?? "0"
  const last = /^[cpd](\d+)_/.exec(callsIn(content).at(-1) ?? "")?.[1]
  return last === undefined ? Number(asked) : Number(last) + 1
}

/** Number of characters of a conversation that the provider accepts. */
const window = 1_500

const tooLong = ScriptedModel.failWith(AiError.make({
  module: "programs",
  method: "generateText",
  reason: new AiError.InvalidRequestError({ metadata: { programs: { kind: "context-length" } } })
}))

/** The agent that asks the model. */
const speakerOf = ({ content: [first] }: Prompt.Prompt): string => first?.role === "system" ? first.content : ""

const letterOf = (prompt: Prompt.Prompt): string => letters[speakerOf(prompt)] ?? ""

const answerOf = (
  program: Program,
  prompt: Prompt.Prompt,
  said: string
): ScriptedModel.Answer | ScriptedModel.Failure => {
  const speaker = speakerOf(prompt)
  const letter = letterOf(prompt)
  const answered = answeredIn(prompt)
  if (speaker === desk) {
    return callsIn(prompt.content).length === 0
      ? ScriptedModel.calls([0, 1].map((nth) => ({ name: "ask", params: {}, id: `${letter}${answered}_${nth}` })))
      : ScriptedModel.text(said)
  }
  if (program.compact === "refused" && JSON.stringify(prompt.content).length > window) return tooLong
  const calls = program.turns[answered % (program.turns.length + 1)]
  return calls === undefined
    ? ScriptedModel.text(said)
    : ScriptedModel.calls(calls.map(({ order, tool }, index) => ({
      name: toolName(program, tool % program.tools.length),
      params: order === "none" ? {} : { order },
      id: `${letter}${answered}_${index}`
    })))
}

/** The model of a program, which ends by saying `said`. */
export const modelOf = (program: Program, said: string): ScriptedModel.Behaviour => ({ prompt }, index) => {
  const answer = answerOf(program, prompt, said)
  if (answer._tag === "Failure") return answer
  switch (program.model.find(({ at }) => at === index + 1)?.fault) {
    case undefined:
      return answer
    case "fails":
      return ScriptedModel.failure("InternalProviderError")
    case "cut":
      return ScriptedModel.cut(answer, { after: 1 })
    case "hangs":
      return ScriptedModel.hang
    case "slow":
      return ScriptedModel.delay("5 seconds", answer)
    case "strange":
      return {
        ...answer,
        text: undefined,
        calls: [...answer.calls ?? [], {
          name: "strange",
          params: {},
          id: `${letterOf(prompt)}${answeredIn(prompt)}_9`
        }]
      }
  }
}

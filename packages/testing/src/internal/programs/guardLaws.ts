/**
 * Laws about restrictions of agents: tools that a turn does not offer, inputs and answers that a guard refuses or
 * replaces.
 */
import { Exit } from "effect"
import type { Prompt } from "effect/ai"
import { textOf } from "../text/text.ts"
import { instead, substitute } from "./planted.ts"
import { eventsOf, hasOneChat, hasOneConversation, type Law, ofEachRun, specOf } from "./judging.ts"
import { toolName } from "./program.ts"

/** Users' messages in a conversation, in text form. */
const saidIn = (messages: ReadonlyArray<Prompt.Message>): ReadonlyArray<string> =>
  messages.flatMap(({ content, role }) => role === "user" ? [textOf(content)] : [])

export const guardLaws = {
  /** A tool that no turn offers is not run for the model. */
  only_offered_tools_run: ofEachRun((run) =>
    run.program.offers === "all" ?
      [] :
      run.sideEffects.flatMap(({ callId, tool, within }) =>
        within === undefined && callId?.includes("/") === false && tool !== toolName(run.program, 0)
          ? [`${tool} ${callId} ran, and was not offered`]
          : []
      )
  ),

  /** No call or event happens before the input guard has passed, and no answer before the answer guard has. */
  guards_come_first: ofEachRun((run) => {
    const { guards } = run.program
    if (guards === "none") return []
    if (guards === "refuseInput") {
      return [
        ...run.sideEffects.map(({ tool }) => `${tool} ran, and the input was refused`),
        ...eventsOf(run, "ToolCallStarted").flatMap(({ tool }) =>
          specOf(run.program, tool) === undefined ? [] : [`a call of ${tool} is emitted, and the input was refused`]
        )
      ]
    }
    if (!hasOneConversation(run.program)) return []
    const said = eventsOf(run, "TextDelta").map(({ delta }) => delta).join("")
    return [
      ...(said.includes("done") ? [`"${said}" is emitted, and was not to be`] : []),
      ...run.parts.flatMap(({ exit, record }) => {
        const transcript = record?.transcript.content ?? []
        return [
          ...(transcript.some(({ content, role }) => role === "assistant" && textOf(content).includes("\"done\""))
            ? ["the transcript has the answer that the guard has taken"]
            : []),
          // The program's own answer instead of the model's is no answer of the model.
          ...(Exit.isSuccess(exit) && exit.value !== substitute && (guards === "refuseAnswer" || exit.value !== instead)
            ? [`it answers ${textOf(exit.value)}`]
            : []),
          ...(guards === "replace" && Exit.isSuccess(exit) &&
              !transcript.some(({ content, role }) => role === "user" && textOf(content).includes(instead))
            ? ["the conversation has the input that the guard has replaced"]
            : [])
        ]
      })
    ]
  }),

  /** No model of a later turn reads an input that the guard has replaced in a turn of a chat. */
  replaced_is_not_read_again: ofEachRun((run) => {
    const { program: { compact, guards }, left, parts, requests } = run
    if (guards !== "replace" || !hasOneChat(run.program) || compact !== "no") return []
    const turns = parts.filter(({ requests: [from, to], turn }) => turn?.says === "message" && to > from)
    const later = left !== undefined && Exit.isSuccess(left) ? [left.value] : []
    return turns.flatMap(({ record, requests: [from] }, nth) => {
      const question = saidIn(requests[from]!.prompt.content).at(-1)
      const said = saidIn(record?.transcript.content ?? [])
      if (question === undefined || said.includes(question) || !said.some((text) => text.includes(instead))) return []
      const read = [...turns.slice(nth + 1).map(({ requests: [first] }) => requests[first]!.prompt), ...later]
      return read.flatMap(({ content }) =>
        saidIn(content).includes(question)
          ? [`${question} was replaced in turn ${nth + 1}, and a later turn reads it`]
          : []
      )
    })
  })
} as const satisfies Readonly<Record<string, Law>>

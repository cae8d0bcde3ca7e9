/** Answers: the last result of each call of an agent's run, and how often it came while no other call gave a new one. */
import * as Hash from "effect/Hash"
import { canonicalJson } from "../foundation/canonicalJson.ts"
import type { RequestedCall } from "./callResult.ts"

/** The last result of a call. */
interface Answer {
  readonly params: unknown
  /** The arguments as canonical JSON; made when the tool is called again, and not before. */
  key: string | undefined
  encoded: unknown
  /** Stands for the result: equal ones have equal prints. Made when the call is made again. */
  print: string | undefined
  times: number
  /** How many results were new when it came. */
  since: number
}

/** What is kept of the answers for a run that is resumed. */
export type AnswersState = Readonly<
  Record<string, ReadonlyArray<{ readonly key: string; readonly print: string; readonly times: number }>>
>

/** Of a result from outside what it says: its envelope names the call. */
const contentOf = (encoded: unknown): unknown =>
  typeof encoded === "object" && encoded !== null && Object.hasOwn(encoded, "untrusted") &&
    Object.hasOwn(encoded, "call_id") && "content" in encoded
    ? encoded.content
    : encoded

const keyOf = (answer: Answer): string => answer.key ??= canonicalJson(answer.params)

const printOf = (answer: Answer): string => {
  if (answer.print === undefined) {
    const text = canonicalJson(contentOf(answer.encoded))
    answer.print = `${text.length}:${Hash.string(text)}`
    answer.encoded = undefined
  }
  return answer.print
}

export class Answers {
  private byTool = new Map<string, Array<Answer>>()
  private news = 0
  private hasRepeats = false

  private find({ name, params }: RequestedCall): Answer | undefined {
    const answers = this.byTool.get(name)
    if (answers === undefined) return undefined
    const key = canonicalJson(params)
    return answers.find((answer) => keyOf(answer) === key)
  }

  /** How often a call gave the same result since a call of the run last gave a new one. */
  timesOf(call: RequestedCall): number {
    if (!this.hasRepeats) return 0
    const answer = this.find(call)
    return answer?.since === this.news ? answer.times : 0
  }

  /** Notes what a call has answered. */
  note(call: RequestedCall, encoded: unknown): void {
    const known = this.find(call)
    const answer: Answer = { params: call.params, key: known?.key, encoded, print: undefined, times: 1, since: 0 }
    if (known !== undefined && printOf(known) === printOf(answer)) {
      this.hasRepeats = true
      known.times = known.since === this.news ? known.times + 1 : 1
      known.since = this.news
      return
    }
    answer.since = ++this.news
    if (known !== undefined) Object.assign(known, answer)
    else this.byTool.set(call.name, [...this.byTool.get(call.name) ?? [], answer])
  }

  state(): AnswersState {
    return Object.fromEntries(
      [...this.byTool].map(([tool, answers]) => [
        tool,
        answers.map((answer) => ({
          key: keyOf(answer),
          print: printOf(answer),
          times: answer.since === this.news ? answer.times : 0
        }))
      ])
    )
  }

  restore(state: AnswersState): void {
    this.hasRepeats = true
    for (const [tool, answers] of Object.entries(state)) {
      this.byTool.set(
        tool,
        answers.map(({ key, print, times }) => ({ params: undefined, encoded: undefined, key, print, times, since: 0 }))
      )
    }
  }
}

/** Answers: the last result of each call of an agent's run, and how often it came while no other call gave a new one. */
import * as Hash from "effect/Hash"
import { canonicalJson } from "../foundation/json/canonicalJson.ts"
import { roughHash } from "../foundation/json/roughHash.ts"
import type { RequestedCall } from "./callResult.ts"

/** The last result of a call. */
interface Answer {
  readonly tool: string
  readonly params: unknown
  /** The arguments as canonical JSON, once the call is repeated. */
  readonly key?: string | undefined
  readonly encoded?: unknown
  /** Hash of the result, in its place once the call is repeated: equal ones have equal hashes. */
  readonly print?: string | undefined
  readonly times: number
  /** Number of new results before it. */
  readonly since: number
}

/** Stored answers for a run that is resumed. */
export type AnswersState = Readonly<
  Record<string, ReadonlyArray<{ readonly key: string; readonly print: string; readonly times: number }>>
>

/** Content of an untrusted result: its envelope names the call. */
const contentOf = (encoded: unknown): unknown => {
  const fields = Object(encoded) as object
  return Object.hasOwn(fields, "untrusted") && Object.hasOwn(fields, "call_id") && "content" in fields
    ? fields.content
    : encoded
}

const keyOf = ({ key, params }: Pick<Answer, "key" | "params">): string => key ?? canonicalJson(params)

const printed = (encoded: unknown): string => {
  const text = canonicalJson(contentOf(encoded))
  return `${text.length}:${Hash.string(text)}`
}

const printOf = ({ encoded, print }: Answer): string => print ?? printed(encoded)

export class Answers {
  /**
   * The first call with each rough hash of the arguments, by the hash: most calls are made once, and need no further state. The others by tool
   * and arguments.
   */
  private readonly byCall = new Map<number | string, Answer>()
  private news = 0
  private hasRepeats = false
  /** Results of the latest round. They are counted when another call comes, because most runs end with them. */
  private latest: Array<readonly [call: RequestedCall, encoded: unknown]> = []

  private slotOf({ name, params }: Pick<RequestedCall, "name" | "params">): number | string {
    const hash = roughHash(params)
    const first = this.byCall.get(hash)
    if (first === undefined) return hash
    const key = canonicalJson(params)
    return first.tool === name && keyOf(first) === key ? hash : `${name}\n${key}`
  }

  /** Number of equal results of a call since a call of the run last gave a new one. */
  timesOf(call: RequestedCall): number {
    this.settle()
    if (!this.hasRepeats) return 0
    const answer = this.byCall.get(this.slotOf(call))
    return answer?.since === this.news ? answer.times : 0
  }

  /** Records the answer of a call. */
  note(call: RequestedCall, encoded: unknown): void {
    this.latest.push([call, encoded])
  }

  private settle(): void {
    if (this.latest.length === 0) return
    const results = this.latest
    this.latest = []
    for (const [call, encoded] of results) this.count(call, encoded)
  }

  private count(call: RequestedCall, encoded: unknown): void {
    const { name: tool, params } = call
    const slot = this.slotOf(call)
    const known = this.byCall.get(slot)
    if (known === undefined) {
      this.byCall.set(slot, { tool, params, encoded, times: 1, since: ++this.news })
      return
    }
    const print = printed(encoded)
    const isRepeat = printOf(known) === print
    if (isRepeat) this.hasRepeats = true
    else this.news++
    const times = isRepeat && known.since === this.news ? known.times + 1 : 1
    this.byCall.set(slot, { tool, params, key: keyOf(known), print, times, since: this.news })
  }

  state(): AnswersState {
    this.settle()
    const state: Record<string, Array<AnswersState[string][number]>> = Object.create(null)
    for (const answer of this.byCall.values()) {
      const times = answer.since === this.news ? answer.times : 0
      ;(state[answer.tool] ??= []).push({ key: keyOf(answer), print: printOf(answer), times })
    }
    return { ...state }
  }

  restore(state: AnswersState): void {
    this.hasRepeats = true
    for (const [tool, answers] of Object.entries(state)) {
      for (const { key, print, times } of answers) {
        const params: unknown = JSON.parse(key)
        this.byCall.set(this.slotOf({ name: tool, params }), { tool, params, key, print, times, since: 0 })
      }
    }
  }
}

/** Answers: the last result of each call of an agent's run, and how often it came while no other call gave a new one. */
import * as Hash from "effect/Hash"
import { canonicalJson } from "../foundation/json/canonicalJson.ts"
import { roughHash } from "../foundation/json/roughHash.ts"
import type { RequestedCall } from "./callResult.ts"

/** The last result of a call. */
interface Answer {
  readonly tool: string
  readonly params: unknown
  /** The arguments as canonical JSON; made when the tool is called again, and not before. */
  key: string | undefined
  encoded: unknown
  /** Hash of the result: equal ones have equal hashes. Made when the call is repeated. */
  print: string | undefined
  times: number
  /** Number of new results before it. */
  since: number
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

const keyOf = (answer: Answer): string => answer.key ??= canonicalJson(answer.params)

const printed = (encoded: unknown): string => {
  const text = canonicalJson(contentOf(encoded))
  return `${text.length}:${Hash.string(text)}`
}

const printOf = (answer: Answer): string => {
  if (answer.print === undefined) {
    answer.print = printed(answer.encoded)
    answer.encoded = undefined
  }
  return answer.print
}

export class Answers {
  /** The first call with each rough hash of the arguments: most calls are made once, and need no further state. */
  private readonly byHash = new Map<number, Answer>()
  /** The others with it, by tool and arguments. */
  private byKey: Map<string, Answer> | undefined
  private news = 0
  private hasRepeats = false
  /** Results of the latest round. They are counted when another call comes, because most runs end with them. */
  private latest: Array<readonly [call: RequestedCall, encoded: unknown]> = []

  private find({ name, params }: RequestedCall, hash: number): Answer | undefined {
    const first = this.byHash.get(hash)
    if (first === undefined) return undefined
    const key = canonicalJson(params)
    return first.tool === name && keyOf(first) === key ? first : this.byKey?.get(`${name}\n${key}`)
  }

  private add(answer: Answer, hash: number): void {
    if (!this.byHash.has(hash)) this.byHash.set(hash, answer)
    else (this.byKey ??= new Map()).set(`${answer.tool}\n${keyOf(answer)}`, answer)
  }

  /** Number of equal results of a call since a call of the run last gave a new one. */
  timesOf(call: RequestedCall): number {
    this.settle()
    if (!this.hasRepeats) return 0
    const answer = this.find(call, roughHash(call.params))
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
    const hash = roughHash(params)
    const known = this.find(call, hash)
    if (known === undefined) {
      this.add({ tool, params, key: undefined, encoded, print: undefined, times: 1, since: ++this.news }, hash)
      return
    }
    const print = printed(encoded)
    if (printOf(known) === print) {
      this.hasRepeats = true
      known.times = known.since === this.news ? known.times + 1 : 1
    } else {
      known.print = print
      known.times = 1
      this.news++
    }
    known.since = this.news
  }

  state(): AnswersState {
    this.settle()
    const state: Record<string, Array<AnswersState[string][number]>> = Object.create(null)
    for (const answer of [...this.byHash.values(), ...this.byKey?.values() ?? []]) {
      const times = answer.since === this.news ? answer.times : 0
      ;(state[answer.tool] ??= []).push({ key: keyOf(answer), print: printOf(answer), times })
    }
    return { ...state }
  }

  restore(state: AnswersState): void {
    this.hasRepeats = true
    for (const [tool, answers] of Object.entries(state)) {
      for (const { key, print, times } of answers) {
        const hash = roughHash(JSON.parse(key))
        this.add({ tool, params: undefined, key, encoded: undefined, print, times, since: 0 }, hash)
      }
    }
  }
}

/**
 * Session: the state of one agent's run. All of it goes into a snapshot, so that another process can resume the run.
 */
import type * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import * as Prompt from "effect/ai/Prompt"
import { type Checkpoint, version } from "../approval/snapshot.ts"
import type { CallResult, RequestedCall, Waiting } from "./callResult.ts"
import { withoutUnkept } from "../path/path.ts"
import type { Compacted, Said } from "./runEntries.ts"
import { storedWrites } from "./writes/completedWrites.ts"
import { storedLedgerAnswers } from "./writes/ledgerAnswers.ts"
import type { Run } from "./run.ts"
import { decodePrompt, encodePrompt } from "../foundation/json/promptJson.ts"
import type { DescribedTool } from "../approval/compareParts.ts"
import { hasRequestContext, resultsMessage, Transcript } from "./transcript.ts"
import * as Hash from "effect/Hash"
import { canonicalJson } from "../foundation/json/canonicalJson.ts"
import { roughHash } from "../foundation/json/roughHash.ts"

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

/** Counts equal results of a call: of the same tool, with arguments of the same value, and not of the same text. */
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

/** An answer whose calls are not all done. */
export interface Round {
  /** The conversation up to the answer, without results. */
  readonly transcript: Prompt.Prompt
  readonly calls: ReadonlyArray<RequestedCall>
  readonly results: ReadonlyArray<CallResult>
  readonly waiting: ReadonlyArray<Waiting>
}

/** The tools of a run. */
interface OfferedTools {
  readonly byName: ReadonlyMap<string, { readonly tool: DescribedTool }>
  readonly names: ReadonlyArray<string>
}

/** Additions of a page to a conversation. A run of many turns looks for them once. */
interface Request {
  /** The client tools that it has declared, in JSON. */
  readonly tools: Schema.Json | undefined
  /** True if it has added context to a message of the user. */
  readonly hasContext: boolean
}

const noRequest: Request = { tools: undefined, hasContext: false }

export class Session {
  readonly transcript = new Transcript()
  /** The model's replacement of the first messages of the transcript, since its compaction. */
  private replaced: Compacted | undefined
  /** The conversation that the guard of the input has put in the place of the one that the run was given. */
  replacedInput: Prompt.Prompt | undefined
  /** True if the input guard has replaced it. */
  isReplaced = false
  /** The last conversation that the provider accepted in this execution; known if the agent compacts. */
  accepted: Prompt.Prompt | undefined
  /** Model turns so far. */
  turn = 0
  /** True if the model was asked for another answer, because one did not fit. */
  isCorrected = false
  /** The tools of the run, and the names of those that the model was offered in the request that it answered. */
  tools: OfferedTools = { byName: new Map(), names: [] }
  /** The contents of the request of the run, besides its messages. */
  request = noRequest
  /** True if the run can be resumed: the guard of its input has passed. */
  isResumable = false
  /** Emits that the waiting calls are withdrawn. Set by a round that waits. */
  withdraw: Effect.Effect<void> | undefined
  /** Ids of all calls so far, those of the conversation that the run began with included. */
  readonly callIds: Set<string>
  /** Failures so far, by tool and arguments, and by code. */
  readonly failures: Map<string, Map<string, number>>
  /** Answers of calls so far. */
  readonly answers: Answers

  /** `around`: the session of the run, for one call with a conversation of its own. */
  constructor(around?: Session) {
    this.callIds = around?.callIds ?? new Set()
    this.failures = around?.failures ?? new Map()
    this.answers = around?.answers ?? new Answers()
  }

  /** True if a call with this id is emitted under it. */
  keepsId(id: string): boolean {
    return id !== "" && withoutUnkept(id) === id && !this.callIds.has(id)
  }

  /** The model's prompt. */
  sent(): Prompt.Prompt {
    const all = this.transcript.snapshot()
    return this.replaced === undefined
      ? all
      : Prompt.fromMessages([...this.replaced.prompt.content, ...all.content.slice(this.replaced.count)])
  }

  /** The run's messages so far. */
  said(): Said {
    const { replaced: compacted, replacedInput } = this
    return { transcript: this.transcript.snapshot(), compacted, replacedInput }
  }

  /** From now on the model reads this in place of all that was said. */
  replace(prompt: Prompt.Prompt): void {
    this.replaced = { count: this.transcript.length, prompt }
  }

  /** Restarts the conversation with another input. */
  clear(): void {
    this.transcript.clear()
    this.replaced = undefined
    this.request = noRequest
    this.isReplaced = true
  }

  checkpoint(run: Run, round: Round | undefined): Checkpoint {
    const nested = round?.waiting.flatMap(({ nested }) => nested === undefined ? [] : [nested]) ?? []
    const ledgerAnswers = storedLedgerAnswers(run, nested.map(({ callId }) => callId))
    const within = round?.waiting.flatMap(({ within }) => within === undefined ? [] : [within]) ?? []
    return {
      version,
      runId: run.id,
      agent: run.path.at(-1) ?? "",
      ...(run.parent === undefined ? undefined : { scope: run.scope }),
      ...(run.reading.skill === undefined ? undefined : { skill: run.reading.skill }),
      transcript: encodePrompt(round?.transcript ?? this.transcript.resumable()),
      ...(this.replaced === undefined
        ? undefined
        : { replaced: { count: this.replaced.count, prompt: encodePrompt(this.replaced.prompt) } }),
      ...(this.replacedInput === undefined ? undefined : { replacedInput: encodePrompt(this.replacedInput) }),
      ...(this.request.tools === undefined ? undefined : { requestTools: this.request.tools }),
      ...(this.isCorrected ? { corrected: true as const } : undefined),
      turn: this.turn,
      usage: { ...run.counts.usage },
      budget: run.account.state(),
      executed: run.counts.executed.map((call) => ({ ...call })),
      ...storedWrites(run),
      ...(ledgerAnswers === undefined ? undefined : { ledgerAnswers }),
      failures: Object.fromEntries([...this.failures].map(([key, codes]) => [key, Object.fromEntries(codes)])),
      answers: this.answers.state(),
      callIds: [...this.callIds],
      taintedBy: [...run.reading.taintedBy],
      hidden: Object.fromEntries(run.reading.hidden),
      ...(round === undefined ? undefined : {
        round: {
          calls: round.calls.map(({ id, name, params }) => ({ id, name, params: params as Schema.Json })),
          results: encodePrompt(Prompt.fromMessages([resultsMessage(round.results)])),
          pending: round.waiting.flatMap(({ pending }) => pending),
          ...(nested.length === 0 ? undefined : { nested }),
          ...(within.length === 0 ? undefined : { within })
        }
      })
    }
  }

  /** Continues another session. */
  restore(checkpoint: Checkpoint): void {
    const transcript = decodePrompt(checkpoint.transcript)
    this.transcript.prompt(transcript)
    this.replaced = compactedAt(checkpoint)
    this.replacedInput = replacedInputAt(checkpoint)
    this.isCorrected = checkpoint.corrected === true
    this.request = { tools: checkpoint.requestTools, hasContext: hasRequestContext(transcript) }
    this.turn = checkpoint.turn
    this.isResumable = true
    for (const id of checkpoint.callIds) this.callIds.add(id)
    this.answers.restore(checkpoint.answers ?? {})
    for (const [key, codes] of Object.entries(checkpoint.failures)) {
      this.failures.set(key, new Map(Object.entries(codes)))
    }
  }
}

/** The model's replacement of the first messages at a checkpoint. */
export const compactedAt = ({ replaced }: Checkpoint): Compacted | undefined =>
  replaced && { count: replaced.count, prompt: decodePrompt(replaced.prompt) }

/** The input guard's replacement of the conversation. */
export const replacedInputAt = ({ replacedInput }: Checkpoint): Prompt.Prompt | undefined =>
  replacedInput === undefined ? undefined : decodePrompt(replacedInput)

/** The results that a round has, by id of the call. */
export const resultsOf = ({ calls, results }: Exclude<Checkpoint["round"], undefined>) => readResults(calls, results)

/** Returns the results in messages of {@link resultsMessage}, in JSON, by id of the call. */
export const readResults = (
  calls: ReadonlyArray<RequestedCall>,
  messages: Schema.Json
): ReadonlyMap<string, CallResult> => {
  const results = new Map<string, CallResult>()
  for (const message of decodePrompt(messages).content) {
    if (message.role !== "tool") continue
    for (const part of message.content) {
      if (part.type !== "tool-result") continue
      const call = calls.find(({ id }) => id === part.id)
      if (call === undefined) continue
      const { uncertain, pendingOf, repaired, taintedBy } = (part.options as {
        readonly recourse?: Pick<CallResult, "uncertain" | "repaired" | "pendingOf"> & {
          readonly taintedBy?: ReadonlyArray<string>
        }
      }).recourse ?? {}
      results.set(part.id, {
        call,
        isFailure: part.isFailure,
        encoded: part.result,
        modelOutput: part.modelOutput,
        repaired,
        pendingOf,
        uncertain,
        taints: taintedBy
      })
    }
  }
  return results
}

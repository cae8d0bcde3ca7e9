/** Recorded turn: an answer of the model that the run's journal has is taken from it, and any other is written there. */
import type * as Prompt from "effect/ai/Prompt"
import type * as Response from "effect/ai/Response"
import * as Effect from "effect/Effect"
import * as Hash from "effect/Hash"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Path from "../path/path.ts"
import { NonDeterminismError } from "../../Journal.ts"
import { type RunLog, waitForCancellation } from "../run/runLog.ts"
import type { AnswerCodec } from "../model/answerRecord.ts"
import { isCall } from "../model/responseParts.ts"
import { TurnEvents } from "../model/modelTurnEvents.ts"
import { isSubstitute, type RespondWith, respondWith } from "../model/modelDecision.ts"
import { canonicalJson } from "../foundation/json/canonicalJson.ts"
import { toJson } from "../foundation/json/jsonValue.ts"
import { countReplayed, usedSince } from "../run/tally.ts"
import { Used } from "../run/used.ts"
import { announcedKey, turnKey } from "../path/entryKeys.ts"
import type { Conversation, Delay } from "./program.ts"
import { keyOfCall } from "../run/recordedStart.ts"

/** Adds a start for each call of an older version that may have started without an entry. `keyed`: the called tools that had keys. */
const addOldStarts = (
  { program: { skills, tools }, run: { log, scope } }: Conversation,
  calls: ReadonlyArray<Pick<Response.ToolCallPart<string, unknown>, "id" | "name">>,
  keyed: ReadonlyArray<string> = []
): void => {
  for (const { id, name } of calls) {
    const path = Path.ofCall(scope, name, id)
    const isIdempotent = [tools, ...skills.map(({ tools }) => tools)].some(({ byName }) =>
      byName.get(name)?.tool.info.effects === "idempotent"
    )
    if (log?.has(path) !== false || !(isIdempotent || keyed.includes(name))) continue
    log.add(path, {
      entry: path,
      attempt: "first",
      key: keyOfCall,
      isRepeatable: isIdempotent,
      isAtomic: false
    })
  }
}

const Recorded = Schema.Struct({
  /** Hash of the model's messages since its last answer. */
  told: Schema.Number,
  answer: Schema.Union([
    Schema.TaggedStruct("Answer", { value: Schema.Json }),
    /** The program answered in the model's place. */
    Schema.TaggedStruct("Substitute", { output: Schema.Json })
  ]),
  used: Used,
  /** True if each start of the calls has an entry. Absent in older versions. */
  hasStarts: Schema.optionalKey(Schema.Literal(true)),
  /** Called tools that had idempotency keys, by older versions. */
  keyed: Schema.optionalKey(Schema.Array(Schema.String)),
  /** It was not emitted yet, because a guard had not passed. */
  isHeld: Schema.optionalKey(Schema.Literal(true))
})

const decode = Schema.decodeUnknownOption(Recorded)

/**
 * Hash of the model's messages since its last answer: results of calls, and messages of the program. Instructions are
 * excluded: a version of the agent with better ones continues the runs of the one before.
 */
const messagesHash = (messages: ReadonlyArray<Prompt.Message>): number => {
  const last = messages.findLastIndex(({ role }) => role === "assistant")
  const newContents = messages.slice(last + 1).filter(({ role }) => role !== "system").map(({ content }) => content)
  return Hash.string(canonicalJson(Option.getOrElse(toJson(newContents), () => null)))
}

const contentOf = (answer: object): ReadonlyArray<Response.AnyPart> =>
  (answer as { readonly content?: ReadonlyArray<Response.AnyPart> }).content ?? []

type Called = Response.ToolCallPart<string, unknown>

const calledIn = (answer: object): ReadonlyArray<Called> => contentOf(answer).filter(isCall)

/** Runs a turn, or replays it from the journal: with its usage, and without emitting it again. */
export const recorded = <A extends object>(
  state: Conversation,
  log: RunLog,
  turn: number,
  codec: AnswerCodec<A>,
  isDelayed: Delay,
  attempt: () => Effect.Effect<A | RespondWith<unknown>, unknown, unknown>
): Effect.Effect<A | RespondWith<unknown>, unknown, unknown> => {
  const { program: { guardOutput, output, skills, tools }, run, session, transcript } = state
  const key = turnKey(run.start.place, turn)
  const emittedKey = announcedKey(key)
  const noteEmitted = () => log.note("wait", emittedKey, null)
  /** Emits, behind the guard, the events that an earlier execution could not emit. */
  const announceReplayed = (content: ReadonlyArray<Response.AnyPart>): Effect.Effect<void> => {
    if (log.find("wait", emittedKey) !== undefined) return Effect.void
    const events = state.events = new TurnEvents(run, turn, (id) => session.keepsId(id), isDelayed)
    events.onEmitted = noteEmitted
    return events.answeredBefore(content)
  }
  const requestHash = messagesHash(transcript.snapshot().content)
  const earlier = decode(log.find("model", key))
  const result = Schema.toCodecJson(output.schema)
  if (Option.isSome(earlier)) {
    const { answer, used } = earlier.value
    if (earlier.value.told !== requestHash) {
      return Effect.die(new NonDeterminismError({ runId: run.id, step: `model ${key}` }))
    }
    countReplayed(run, used)
    return answer._tag === "Answer"
      ? Effect.flatMap(codec.read(answer.value), (answer) => {
        if (earlier.value.hasStarts !== true) addOldStarts(state, calledIn(answer), earlier.value.keyed)
        return Effect.as(earlier.value.isHeld === true ? announceReplayed(contentOf(answer)) : Effect.void, answer)
      })
      : Effect.map(Schema.decodeUnknownEffect(result)(answer.output), respondWith)
  }
  const isOver = waitForCancellation(run)
  if (isOver !== undefined) return isOver
  const sets = [tools, ...skills.map(({ tools }) => tools)]
  const isRead = (name: string): boolean =>
    sets.every(({ byName }) => {
      const info = byName.get(name)?.tool.info
      return info === undefined || (info.effects === "read" && info.isAgent !== true)
    })
  /** True if no effect follows an answer: it need not be durable before. The run's end follows the last answer. */
  const isUnchanged = (called: ReadonlyArray<Called>): boolean =>
    called.length > 0 ? called.every(({ name }) => isRead(name)) : run.parent === undefined && guardOutput === undefined
  const written = (answer: A | RespondWith<unknown>): Effect.Effect<unknown, unknown, unknown> =>
    isSubstitute(answer)
      ? Effect.map(Schema.encodeUnknownEffect(result)(answer.output), (output) => ({ _tag: "Substitute", output }))
      : Effect.map(codec.write(answer as A), (value) => ({ _tag: "Answer", value }))
  const used = usedSince(run)
  return Effect.flatMap(Effect.suspend(attempt), (answer) =>
    Effect.flatMap(written(answer), (written) => {
      const called = calledIn(answer)
      const hasDelayed = !isSubstitute(answer) && state.events?.isHolding === true
      if (hasDelayed) state.events!.onEmitted = noteEmitted
      const delayed = hasDelayed ? { isHeld: hasDelayed } : undefined
      const value = { told: requestHash, answer: written, used: used(), hasStarts: true, ...delayed } as Schema.Json
      return Effect.as(
        isUnchanged(called) ? log.note("model", key, value) : log.record("model", key, value),
        answer
      )
    }))
}

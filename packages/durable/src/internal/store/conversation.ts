/**
 * Conversations of runs. A run whose input holds a conversation stores the messages behind those that an earlier run has stored, and names the rest
 * by the hash of all messages up to there. So it refers to one version of a thread, whoever keeps the thread.
 */
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import { chainedHashes } from "./digest.ts"
import { canonical, isObject, type JsonObject, longTexts, textKey, type TextPath, unpack } from "./references.ts"
import { type MessagePart, RunStoreError, type Step, type Store } from "./store.ts"
import { isUnreadable, unreadable } from "./unreadable.ts"

type Messages = ReadonlyArray<Schema.Json>

/** The conversation of a run. */
export interface Conversation {
  /** The messages of its input, and those that it has said until its last pause. */
  readonly messages: Messages
  /** Number of the input's messages among them. */
  readonly inputSize: number
  /** Number of parts that the run has stored. */
  readonly parts: number
  /** The hash of all messages; `undefined` if there are none. */
  readonly id: string | undefined
}

/** The conversation of a run whose input has none. */
export const noConversation: Conversation = { messages: [], inputSize: 0, parts: 0, id: undefined }

/** Returns the hashes of a conversation up to each message, behind one that has the hash `id`. Owners share no hashes. */
export const idsOf = (
  owner: string | undefined,
  messages: Messages,
  id?: string | undefined
): Effect.Effect<ReadonlyArray<string>> =>
  Effect.suspend(() => chainedHashes(id ?? JSON.stringify(["recourse", owner ?? null]), messages.map(canonical)))

const nameKey = "~conversation"

const areMessages = (json: unknown): json is Messages =>
  Array.isArray(json) && json.length > 0 && json.every((one) => isObject(one) && typeof one["role"] === "string")

/** Replaces the first `content` that is of a kind, of the input itself or of one of its fields. */
const replaced = <A extends Schema.Json>(
  input: Schema.Json,
  isIt: (json: unknown) => json is A,
  by: (found: A) => Schema.Json
): { readonly input: Schema.Json; readonly found: A } | undefined => {
  if (!isObject(input)) return undefined
  const { content } = input
  if (isIt(content)) return { input: { ...input, content: by(content) }, found: content }
  for (const [key, field] of Object.entries(input)) {
    const inner = isObject(field) && isIt(field["content"]) ? field["content"] : undefined
    if (inner !== undefined) {
      return { input: { ...input, [key]: { ...field as JsonObject, content: by(inner) } }, found: inner }
    }
  }
  return undefined
}

const isName = (json: unknown): json is { readonly [nameKey]: string } =>
  isObject(json) && Object.keys(json).length === 1 && typeof json[nameKey] === "string"

/** An input as it is stored: without the messages of its conversation, of which the hashes up to each one are given. */
export interface StoredInput {
  readonly input: Schema.Json
  readonly conversation?: { readonly ids: ReadonlyArray<string>; readonly messages: Messages } | undefined
}

/** Returns the stored form of an input. */
export const inputToStored = Effect.fnUntraced(function*(
  input: Schema.Json,
  owner: string | undefined
): Effect.fn.Return<StoredInput> {
  const given = replaced(input, areMessages, () => [])?.found
  if (given === undefined) return { input }
  // A copy in JSON's form: a program may change its own objects later.
  const messages = JSON.parse(JSON.stringify(given)) as Messages
  const ids = yield* idsOf(owner, messages)
  const named = replaced(input, areMessages, () => ({ [nameKey]: ids.at(-1)! }))!
  return { input: named.input, conversation: { ids, messages } }
})

/** True if a stored input names its conversation. */
export const namesConversation = (input: Schema.Json): boolean => replaced(input, isName, () => []) !== undefined

/** Returns the input whose stored form it is. */
export const inputFromStored = (input: Schema.Json, { inputSize, messages }: Conversation): Schema.Json =>
  replaced(input, isName, () => messages.slice(0, inputSize))?.input ?? input

/** Returns the snapshot whose stored form it is. */
export const snapshotFromStored = (snapshot: Schema.Json, { messages }: Conversation): Schema.Json =>
  unpack(snapshot, { said: (from, to) => messages.slice(from, to), text: (path) => ({ [textKey]: path }) })

/** Finds texts in steps of several runs. */
export const textsIn = (steps: ReadonlyArray<Step>): (runId: string, path: TextPath) => Schema.Json => {
  const known = new Map(steps.map((step) => [`${step.position} ${step.runId}`, step]))
  const texts = new Map<string, ReadonlyArray<string>>()
  return (runId, [position, n]) => {
    const id = `${position} ${runId}`
    const step = known.get(id)
    const ofStep = texts.get(id) ?? (step === undefined ? [] : [...longTexts(step.value), ...longTexts(step.events)])
    texts.set(id, ofStep)
    const text = ofStep[n]
    // It may have been deleted while it was read.
    if (text === undefined) throw unreadable("a text")
    return text
  }
}

/** The steps that parts name. */
export const stepsNamedBy = (parts: ReadonlyArray<MessagePart>): ReadonlyArray<Pick<Step, "runId" | "position">> =>
  parts.flatMap(({ messages, runId }) => {
    const positions = new Set<number>()
    unpack(messages, { said: () => [], text: ([position]) => (positions.add(position), "") })
    return [...positions].map((position) => ({ runId, position }))
  })

/** The messages of a part, with the texts that it names. */
export const messagesOf = (
  { messages, runId }: MessagePart,
  textOf: ReturnType<typeof textsIn>
): Messages => unpack(messages, { said: () => [], text: (path) => textOf(runId, path) }) as Messages

/** Turns a text that is missing into a failure of the store. */
export const resolving = <A>(resolve: () => A): Effect.Effect<A, RunStoreError> =>
  Effect.suspend(() => {
    try {
      return Effect.succeed(resolve())
    } catch (error) {
      return error instanceof RunStoreError ? Effect.fail(error) : Effect.die(error)
    }
  })

/** Returns the conversation that parts make, with the texts of the steps that they name. */
export const conversationOf = (
  runId: string,
  parts: ReadonlyArray<MessagePart>,
  steps: ReadonlyArray<Step>
): Conversation => {
  const textOf = textsIn(steps)
  const own = parts.filter((part) => part.runId === runId)
  return {
    messages: parts.flatMap((part) => messagesOf(part, textOf)),
    inputSize: own.find(({ part }) => part === 0)?.size ?? 0,
    parts: own.length === 0 ? 0 : Math.max(...own.map(({ part }) => part)) + 1,
    id: parts.at(-1)?.id
  }
}

const readOnce = Effect.fnUntraced(function*(
  store: Pick<Store, "messages" | "steps">,
  runId: string
): Effect.fn.Return<Conversation, RunStoreError> {
  const parts = yield* store.messages(runId)
  const named = stepsNamedBy(parts)
  const steps = named.length === 0 ? [] : yield* store.steps(named)
  return yield* resolving(() => conversationOf(runId, parts, steps))
})

/** Reads the conversation of a run. If a run before it is deleted meanwhile, its messages are read again, under their hash. */
export const readConversation = (
  store: Pick<Store, "messages" | "steps">,
  runId: string
): Effect.Effect<Conversation, RunStoreError> => Effect.retry(readOnce(store, runId), { times: 2, while: isUnreadable })

/** Of so many runs the conversation stays in the memory of the process. */
const most = 100

/** Conversations of runs that this process has started, or has read. */
export class KnownConversations {
  private readonly known = new Map<string, Conversation>()

  set(runId: string, conversation: Conversation): void {
    this.known.delete(runId)
    this.known.set(runId, conversation)
    if (this.known.size > most) this.known.delete(this.known.keys().next().value!)
  }

  /** Notes the conversation that a new run begins with. */
  begin(runId: string, { conversation }: StoredInput): void {
    if (conversation === undefined) return
    const { ids, messages } = conversation
    this.set(runId, { messages, inputSize: messages.length, parts: 1, id: ids.at(-1) })
  }

  /** The conversation of a run, with so many messages at least. */
  read(
    store: Pick<Store, "messages" | "steps">,
    runId: string,
    messages: number
  ): Effect.Effect<Conversation, RunStoreError> {
    const known = this.known.get(runId)
    return known !== undefined && known.messages.length >= messages
      ? Effect.succeed(known)
      : Effect.tap(readConversation(store, runId), (read) => Effect.sync(() => this.set(runId, read)))
  }
}

import { assert, describe, it } from "@effect/vitest"
import { Agent, type AgentEvent, ModelError } from "@recourse/core"
import { UiMessage, type UiMessageChunk, UiMessageStream } from "@recourse/server"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Schedule, Stream } from "effect"
import {
  readUIMessageStream,
  safeValidateUIMessages,
  type UIMessage,
  type UIMessageChunk,
  uiMessageChunkSchema
} from "ai"
import { messages } from "../support/drawnRuns.ts"

type Chunk = UiMessageChunk.UiMessageChunk

/** A page's state after the chunks, by the AI SDK's own reader. */
const read = async (chunks: ReadonlyArray<Chunk>, before?: UIMessage) => {
  const errors: Array<unknown> = []
  const stream = new ReadableStream<UIMessageChunk>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk as UIMessageChunk)
      controller.close()
    }
  })
  let message: UIMessage | undefined
  const options = { stream, onError: (error: unknown) => errors.push(error), terminateOnError: false }
  for await (
    const state of readUIMessageStream({ ...options, ...(before === undefined ? undefined : { message: before }) })
  ) {
    message = state
  }
  return { message: message === undefined ? message! : structuredClone(message), errors }
}

const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

const validate = uiMessageChunkSchema().validate!

const mapper = () => UiMessageStream.make({ messageId: "m1", threadId: "t1", approvalId: (callId) => `a:${callId}` })

const map = (events: ReadonlyArray<AgentEvent.AgentEvent>, to = mapper()) => events.flatMap((event) => to.next(event))

/** The events of a message up to each pause, and those behind it. */
const segments = (events: ReadonlyArray<AgentEvent.AgentEvent>) => {
  const found: Array<Array<AgentEvent.AgentEvent>> = []
  for (const event of events) {
    if (event._tag === "RunStarted") found.push([])
    found.at(-1)?.push(event)
  }
  return found
}

describe("drawn programs", () => {
  it.effect(
    "a message followed over its pauses equals a reloaded one",
    () =>
      Effect.gen(function*() {
        let pauses = 0
        for (const events of yield* messages) {
          const live = mapper()
          let before: UIMessage | undefined
          for (const segment of segments(events)) {
            const chunks = map(segment, live)
            if (before !== undefined) pauses++
            const held = before
            before = (yield* Effect.promise(() => read(chunks, held))).message
          }
          const chunks = map(events)
          const { message } = yield* Effect.promise(() => read(chunks))
          assert.deepStrictEqual(before, message)
          // The server assembles the same message for a page that is loaded later.
          assert.deepStrictEqual(asJson(UiMessage.assemble("m1", chunks)), asJson({ ...message, id: "m1" }))
        }
        assert.isAbove(pauses, 20)
      }),
    60_000
  )

  it.effect(
    "every chunk is valid, and every message is read without error",
    () =>
      Effect.gen(function*() {
        const runs = yield* messages
        assert.isAbove(runs.length, 50)
        for (const events of runs) {
          const chunks = map(events)
          for (const chunk of chunks) {
            const result = yield* Effect.promise(async () => validate(chunk))
            assert.isTrue(result.success, JSON.stringify(chunk))
          }
          const { errors, message } = yield* Effect.promise(() => read(chunks))
          const isFailure = events.at(-1)?._tag === "RunFinished" && chunks.at(-1)?.type === "error"
          assert.strictEqual(errors.length, isFailure ? 1 : 0, JSON.stringify([errors.map(String), chunks]))
          const valid = yield* Effect.promise(() => safeValidateUIMessages({ messages: [message] }))
          if (message.parts.length > 0) assert.isTrue(valid.success, JSON.stringify([valid, message]))
          const length = 1 + events.length % 7 * Math.floor((events.length - 1) / 7)
          const stream = mapper()
          const cut = [...map(events.slice(0, length), stream), ...stream.cut("gone")]
          const half = yield* Effect.promise(() => read(cut))
          if (events[length - 1]?._tag !== "RunFinished") assert.strictEqual(half.errors.length, 1)
          for (const part of [...message.parts, ...half.message?.parts ?? []]) {
            if (part.type === "text" || part.type === "reasoning") assert.strictEqual(part.state, "done")
          }
        }
      }),
    60_000
  )
})

it.effect("a text that the model begins again is taken back", () =>
  Effect.gen(function*() {
    const poet = Agent.make("poet", {
      onModelError: () => ModelError.retry({ times: 1, restart: true, schedule: Schedule.forever })
    })
    const events = yield* Stream.runCollect(poet.stream("A line"))
    assert.include(events.map(({ _tag }) => _tag), "AnswerRestarted")
    const { message } = yield* Effect.promise(() => read(map(events)))
    assert.deepStrictEqual(
      message.parts.flatMap((part) => part.type === "text" ? [part.text] : []),
      ["Roses are red"]
    )
  }).pipe(Effect.provide(ScriptedModel.layer([
    ScriptedModel.cut(ScriptedModel.text("Violets are blue"), { after: 2 }),
    ScriptedModel.text("Roses are red")
  ]))))

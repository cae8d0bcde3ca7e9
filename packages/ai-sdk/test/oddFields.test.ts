/** Answers with another kind of value in a field: the rest is read, and a run never ends by a defect. */
import { assert, describe, it } from "@effect/vitest"
import { AiSdk } from "@recourse/ai-sdk"
import { Agent, Recovery, Tool } from "@recourse/core"
import { Cause, Effect, Exit, Schema, Stream } from "effect"
import { calls, contents, streamed, variants } from "./support/oddFields.ts"
import { firstAnswering, stop, usage } from "./support/models.ts"

type Parts = ReadonlyArray<unknown>

const Look = Tool.make("look", { success: Schema.String, effects: "read", execute: () => Effect.succeed("seen") })
const agent = Agent.make("a", { tools: [Look], defaults: { onError: Recovery.standard } })

const text = [{ type: "text-start", id: "t" }, { type: "text-delta", id: "t", delta: "Hi" }, {
  type: "text-end",
  id: "t"
}]
const finish = { type: "finish", finishReason: stop, usage, providerMetadata: { openai: { tier: "flex" } } }
const done = { content: [{ type: "text", text: "Hi" }], finishReason: stop, usage, warnings: [] }

const answers = {
  whole: (first: unknown) => agent.run("x").pipe(Effect.provide(AiSdk.layer(firstAnswering(first, "Hi")))),
  streamed: (first: unknown) =>
    agent.stream("x").pipe(
      Stream.runFold(() => "", (all, event) => event._tag === "TextDelta" ? all + event.delta : all),
      Effect.provide(AiSdk.layer(firstAnswering(first, "Hi")))
    )
}

interface Case {
  readonly name: string
  readonly answer: unknown
  /** The answer is read, and not only a typed failure. */
  readonly isRead: boolean
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null

/** Streams with one odd part before this end. */
const streamsOf = (all: ReadonlyArray<Parts>, end: Parts, isRead: boolean): ReadonlyArray<Case> =>
  all.flatMap((parts) =>
    parts.flatMap((part, at) =>
      [...variants(part as never)].map(([name, odd]) => ({
        name: `${(part as { readonly type: string }).type} ${name}`,
        answer: [...parts.slice(0, at), odd, ...parts.slice(at + 1), ...end],
        isRead
      }))
    )
  )

const cases: Readonly<Record<keyof typeof answers, ReadonlyArray<Case>>> = {
  whole: [
    ...contents.flatMap((part) =>
      [...variants(part)].map(([name, odd]) => ({
        name: `${String(part["type"])} ${name}`,
        answer: { ...done, content: [odd, ...done.content] },
        isRead: true
      }))
    ),
    ...calls.flat().flatMap((part) =>
      [...variants(part)].map(([name, odd]) => ({
        name: `${String(part["type"])} ${name}`,
        answer: { ...done, content: [...done.content, odd] },
        isRead: false
      }))
    ),
    ...[
      ...variants({ ...done, response: { id: "r", timestamp: new Date(0), modelId: "m" }, structuredOutputText: "x" })
    ]
      .map(([name, answer]) => ({
        name,
        answer,
        isRead: isObject(answer) && ["response", "structured", "warnings"].some((field) => name.startsWith(field))
      }))
  ],
  streamed: [
    ...streamsOf(streamed, [...text, finish], true),
    ...streamsOf(calls, [...text, { ...finish, finishReason: { unified: "tool-calls", raw: "x" } }], false),
    ...streamsOf([[finish]], [], false).map(({ answer, ...rest }) => ({
      ...rest,
      answer: [...text, ...answer as Parts]
    }))
  ]
}

describe("an answer", () => {
  for (const mode of ["whole", "streamed"] as const) {
    it.effect(`is read with any other value in a field (${mode})`, () =>
      Effect.gen(function*() {
        const wrong: Array<string> = []
        for (const { answer, isRead, name } of cases[mode]) {
          const exit = yield* Effect.exit(answers[mode](answer))
          if (Exit.isFailure(exit) && (isRead || Cause.hasDies(exit.cause))) {
            wrong.push(`${name}: ${Cause.pretty(exit.cause).slice(0, 100)}`)
          } else if (Exit.isSuccess(exit) && isRead && !String(exit.value).endsWith("Hi")) {
            wrong.push(`${name}: ${JSON.stringify(exit.value)}`)
          }
        }
        assert.deepStrictEqual(wrong, [])
        assert.isAbove(cases[mode].length, 500)
      }), 60_000)
  }
})

/** Guards of the input and of the answer: the record of their changes, and the events while both run. */
import { assert, it } from "@effect/vitest"
import { Agent, Guardrail, ModelError } from "@recourse/core"
import { Drive, ScriptedModel } from "@recourse/testing"
import { Effect } from "effect"
import type { Prompt } from "effect/ai"
import { collect } from "../support/kit.ts"

const textsOf = ({ content }: Prompt.Prompt) =>
  content.flatMap(({ content, role }) =>
    typeof content === "string" ? [] : content.flatMap((part) => part.type === "text" ? [`${role} ${part.text}`] : [])
  )

it.effect("a changed answer is in the conversation, which the guard reads", () =>
  Effect.gen(function*() {
    const read: Array<ReadonlyArray<string>> = []
    const agent = Agent.make("m", {
      guardOutput: (_: string, { transcript }: { readonly transcript: Prompt.Prompt }) =>
        Effect.sync(() => (read.push(textsOf(transcript)), Guardrail.change("[name]")))
    })
    const { transcript } = yield* agent.report("Who?").pipe(
      Effect.provide(ScriptedModel.layer([ScriptedModel.text("Ada")]))
    )
    assert.deepStrictEqual(read, [["user Who?", "assistant Ada"]])
    assert.deepStrictEqual(textsOf(transcript), ["user Who?", "assistant [name]"])
  }))

it.effect("the input passes, the answer does not: no listener receives it", () =>
  Effect.gen(function*() {
    const { events, layer } = collect()
    const agent = Agent.make("m", {
      guardInput: () => Effect.sleep(5000),
      guardOutput: () => Effect.fail("no" as const)
    })
    const error = yield* Drive.drive(
      Effect.flip(agent.run("Who?")).pipe(
        Effect.provide([ScriptedModel.layer([ScriptedModel.text("Ada")]), layer])
      )
    )
    assert.strictEqual(error, "no")
    assert.notInclude(JSON.stringify(events), "Ada")
  }))

it.effect("a replacement answer is emitted with the failure and stored", () =>
  Effect.gen(function*() {
    const { events, layer } = collect()
    const agent = Agent.make("m", { onModelError: () => ModelError.respondWith("Later.") })
    const { transcript } = yield* agent.report("x").pipe(
      Effect.provide([ScriptedModel.layer([ScriptedModel.failure("RateLimitError")]), layer])
    )
    const told = events.find(({ _tag }) => _tag === "ModelSubstituted")
    assert.deepInclude(told, { turn: 1, error: "RateLimitError" })
    assert.deepStrictEqual(textsOf(transcript), ["user x", "assistant Later."])
  }))

/** Principals without an id: a claim that a token lacks, a row that is not there. Runs of no owner in particular are those of everyone. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Conversation } from "@recourse/core"
import { Authentication, MemoryRuns, Server } from "@recourse/server"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Layer, Logger, Redacted } from "effect"
import { Prompt } from "effect/ai"
import { HttpRouter } from "effect/http"
import { refusal } from "../../../../test/support/optionValues.ts"

const clerk = Agent.make("clerk", { input: Prompt.Prompt, prompt: (conversation) => conversation })

/** Principals as a program without types makes them. */
const unidentified: Readonly<Record<string, unknown>> = {
  "an id that is not there": {},
  "an undefined id": { id: undefined },
  "no id": { id: null },
  "an empty id": { id: "" },
  "a blank id": { id: " " },
  "a number": { id: 7 },
  "a list": { id: ["ada"] }
}

/** A server in this process. */
const serving = (authentication: Layer.Layer<Authentication.Authentication>) =>
  HttpRouter.toWebHandler(
    Server.layer({ agents: [{ name: "clerk", tools: [] }] }).pipe(
      Layer.provide([
        authentication,
        MemoryRuns.layer({ agents: [clerk] }).pipe(
          Layer.provide(ScriptedModel.layer([ScriptedModel.text("A secret of Zoe's.")]))
        ),
        Conversation.layerMemory,
        Logger.layer([])
      ])
    )
  )

/** Answers to requests of another principal, after Zoe has started a run. Her name is no hexadecimal number, as trace ids are. */
const answersTo = (ways: (principal: () => unknown) => Layer.Layer<Authentication.Authentication>, other: unknown) => {
  let principal: unknown = { id: "zoe" }
  const { dispose, handler } = serving(ways(() => principal))
  return Effect.promise(async () => {
    const headers = { "content-type": "application/json", cookie: "session=s" }
    const body = JSON.stringify({ agent: "clerk", message: "Mine", key: "k" })
    const started = await handler(new Request("http://localhost/runs", { method: "POST", headers, body }))
    assert.isTrue(started.ok)
    await started.text()
    principal = other
    const answers: Array<string> = []
    for (const path of ["/runs", "/threads", "/agents"]) {
      const response = await handler(new Request(`http://localhost${path}`, { headers }))
      answers.push(`${path} ${response.status}`)
      assert.notInclude(await response.text(), "zoe")
    }
    await dispose()
    return answers
  })
}

describe("a principal without an id", () => {
  const ways: Readonly<Record<string, (principal: () => unknown) => Layer.Layer<Authentication.Authentication>>> = {
    "Authentication.layer": (principal) => Authentication.layer(() => Effect.sync(() => principal() as never)),
    "Authentication.layerSession": (principal) =>
      Authentication.layerSession({ cookie: "session", lookup: () => Effect.sync(() => principal() as never) }),
    "a service of its own": (principal) =>
      Layer.succeed(Authentication.Authentication, { authenticate: () => Effect.sync(() => principal() as never) })
  }
  for (const [name, way] of Object.entries(ways)) {
    for (const [kind, principal] of Object.entries(unidentified)) {
      it.live(`is refused: ${kind}, by ${name}`, () =>
        Effect.gen(function*() {
          assert.deepStrictEqual(yield* answersTo(way, principal), ["/runs 401", "/threads 401", "/agents 401"])
        }))
    }
  }

  for (const [kind, principal] of Object.entries(unidentified)) {
    it(`is no configuration: ${kind}`, () => {
      const token = Redacted.make("token")
      const bearer = refusal(() => Authentication.layerBearer([{ token, principal: principal as never }]))
      assert.include(bearer, "principal: { id: \"ada\" }")
      assert.include(refusal(() => Authentication.layerAnonymous(principal as never)), "{ id: \"staff\" }")
    })
  }
})

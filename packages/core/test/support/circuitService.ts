/** A service behind a circuit breaker. */

import { ScriptedModel } from "@recourse/testing"
import { Effect, Layer } from "effect"
import { CircuitBreaker } from "effect/persistence"
import type { Agent } from "@recourse/core"
import { lastResults } from "./kit.ts"

export const breaker = CircuitBreaker.layer({ tripPolicy: CircuitBreaker.consecutive(2), openDuration: "30 seconds" })
  .pipe(
    Layer.provideMerge(CircuitBreaker.layerStoreMemory())
  )

export const play = <E, R>(
  agent: Agent.Agent<string, unknown, E, R>,
  turns: ReadonlyArray<ScriptedModel.Turn>
) =>
  Effect.gen(function*() {
    yield* agent.run("go")
    const requests = yield* (yield* ScriptedModel.ScriptedModel).requests
    return {
      requests,
      results: requests.slice(1).map((request) =>
        lastResults(request.prompt).map((part) => part.result as Record<string, unknown>)
      )
    }
  }).pipe(Effect.provide(ScriptedModel.layer(turns)))

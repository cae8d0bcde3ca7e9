/** Two servers of which the first is down: the second answers, and soon the first is not even asked any more. */
import { OpenAiCompatible } from "@recourse/openai-compatible"
import { Effect } from "effect"
import { FetchHttpClient } from "effect/http"
import { CircuitBreaker } from "effect/persistence"
import { Agent, ModelFallback } from "@recourse/core"
import * as Server from "./server.ts"

const greeter = Agent.make("greeter", { instructions: "Greet the user." })

/** Greets five times, and returns the answers and the number of each server's requests. */
export const program = Effect.gen(function*() {
  const first = yield* Server.start(undefined)
  const second = yield* Server.start("Hello from the second server")
  const server = (baseUrl: string) => OpenAiCompatible.layer({ baseUrl, model: "local", retry: false })
  const model = ModelFallback.layer([server(first.baseUrl), server(second.baseUrl)], {
    circuitBreaker: { tripPolicy: CircuitBreaker.consecutive(3), openDuration: "30 seconds" }
  })
  const greetings = yield* Effect.forEach([1, 2, 3, 4, 5], (n) => greeter.run(`Hello, I am user ${n}`)).pipe(
    Effect.provide(model)
  )
  return { greetings, first: first.requests(), second: second.requests() }
}).pipe(Effect.scoped, Effect.provide(FetchHttpClient.layer))

/** The main job: asks how many keys an object has, and shows how the agent recovers. Exits 0 only if the answer is 3. */
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { AgentEvent } from "@recourse/core"
import { OpenAiCompatible } from "@recourse/openai-compatible"
import { Console, Effect, Layer, Option, Schema, Stream } from "effect"
import { Command, Flag } from "effect/cli"
import { FetchHttpClient } from "effect/http"
import { existsSync } from "node:fs"
import { loadEnvFile } from "node:process"
import { keyCounter, question } from "./keyCounter.ts"
import * as LocalServer from "./localServer.ts"

/** The agent gave a wrong answer. */
class WrongAnswer extends Schema.TaggedError<WrongAnswer>()("WrongAnswer", { answer: Schema.Int }) {
  override get message(): string {
    return `The answer is ${this.answer}, and should be 3`
  }
}

const flags = {
  baseUrl: Flag.String("base-url").pipe(
    Flag.withDescription("Base URL of a chat completions server; its key is read from LLM_API_KEY"),
    Flag.optional
  ),
  preset: Flag.String("preset").pipe(
    Flag.withDescription("A known server, such as openai or ollama, in place of --base-url"),
    Flag.optional
  ),
  model: Flag.String("model").pipe(Flag.withDescription("Name of the model"), Flag.optional),
  stream: Flag.Boolean("stream").pipe(Flag.withDescription("Stream the model's answers"), Flag.withDefault(false))
}

/** Hint to see an agent in a browser. */
const page = "A chat with an agent, in your browser: pnpm --filter @recourse/example-travel-chat start"

const modelOf = (
  server: {
    readonly baseUrl: string | undefined
    readonly preset: string | undefined
    readonly model: string | undefined
  }
) =>
  server.baseUrl === undefined && server.preset === undefined
    ? Layer.unwrap(Effect.map(LocalServer.start(), (baseUrl) => OpenAiCompatible.layer({ baseUrl, model: "scripted" })))
    : OpenAiCompatible.layerConfig({
      ...(server.baseUrl === undefined ? undefined : { baseUrl: server.baseUrl }),
      ...(server.preset === undefined ? undefined : { preset: server.preset }),
      ...(server.model === undefined ? undefined : { model: server.model })
    })

const streamed = keyCounter.stream(question).pipe(
  Stream.runFold(() => 0, (answer, event) => event._tag === "RunFinished" ? Number(event.output) : answer)
)

const job = Command.make("json-key-counter", flags, ({ baseUrl, model, preset, stream }) => {
  const layer = modelOf({
    baseUrl: Option.getOrUndefined(baseUrl),
    preset: Option.getOrUndefined(preset),
    model: Option.getOrUndefined(model)
  })
  return (stream ? streamed : keyCounter.run(question)).pipe(
    Effect.flatMap((count) =>
      count === 3
        ? Console.log(`\nThe answer is ${count}.\n\n${page}`)
        : new WrongAnswer({ answer: count })
    ),
    Effect.provide(AgentEvent.layerConsole()),
    Effect.provide(layer),
    Effect.provide(FetchHttpClient.layer)
  )
})

if (existsSync(".env")) loadEnvFile(".env")

Command.run(job, { version: "0.1.0" }).pipe(
  Effect.tapError((error) => Console.error(error.message)),
  Effect.provide(NodeServices.layer),
  NodeRuntime.runMain({ disableErrorReporting: true })
)

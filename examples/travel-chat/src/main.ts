/** Opens the travel office. Without a key a scripted model answers; `LLM_PRESET`, `LLM_MODEL` and a key name another one. */
import { NodeRuntime } from "@effect/platform-node"
import { AgentEvent } from "@recourse/core"
import { OpenAiCompatible } from "@recourse/openai-compatible"
import { Server } from "@recourse/server"
import { ScriptedModel } from "@recourse/testing"
import { Console, Layer } from "effect"
import { FetchHttpClient, HttpServer } from "effect/http"
import { layer } from "./office.ts"
import { script } from "./script.ts"

const isNamed = (process.env["LLM_PRESET"] ?? process.env["LLM_BASE_URL"] ?? "") !== ""
const model = isNamed
  ? OpenAiCompatible.layerConfig().pipe(Layer.provide(FetchHttpClient.layer))
  : ScriptedModel.layer(script)

const told = HttpServer.addressFormattedWith((url) =>
  Console.log([
    `Open         ${url}/`,
    `Open as Ada  ${url}/sign-in/ada`,
    `Open as Ben  ${url}/sign-in/ben`,
    `Operator     ${url}/sign-in/olga`,
    `Model        ${isNamed ? "as the environment says" : "scripted: try the suggestions"}`
  ].join("\n"))
)

const office = layer({
  file: process.env["TRAVEL_DATABASE"] ?? "travel.db",
  port: Number(process.env["PORT"] ?? 4984),
  model
})

Layer.effectDiscard(told).pipe(
  Layer.provide(office),
  Layer.provide(AgentEvent.layerConsole()),
  Server.explained,
  Layer.launch,
  NodeRuntime.runMain
)

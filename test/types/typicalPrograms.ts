/** Typical uses of the exported functions with type parameters, for their displayed types. */

/** Header of typical programs. */
export const header = `
import { Agent, AiToolkit, Approval, Catalogue, Compensation, Conversation, ErrorProjection, Guardrail, History, IdempotencyLedger, ModelError, ModelFallback, Policy, ProviderResponse, Quarantine, Reconciliation, Recovery, RequestInput, RunRecord, Skill, Tool, ToolCall, ToolRun, TransportRetry } from "@recourse/core"
import { Approver, Drive, Evaluation, Experiment, FaultSuite, Laws, Replay, Scorer, ScriptedModel, Simulation, Subject, VirtualTime, World } from "@recourse/testing"
import { AiSdk } from "@recourse/ai-sdk"
import { Durable, RunStore, Signal } from "@recourse/durable"
import * as Cluster from "@recourse/durable/Cluster"
import * as Certify from "@recourse/testing/Certify"
import { Mcp } from "@recourse/mcp"
import { Authentication, MemoryRuns, Server, ServerApi } from "@recourse/server"
import { OpenAiCompatible } from "@recourse/openai-compatible"
import { NextFaults, Project } from "@recourse/studio"
import { MysqlClient } from "@recourse/sql"
import * as Settings from "@recourse/openai-compatible/Settings"
import { Cause, Config, Cron, Data, Effect, Layer, Schedule, Schema, type StandardSchema, Stream } from "effect"
import { Tool as AiTool, Toolkit, Prompt, AiError, LanguageModel } from "effect/ai"
import { HttpClient, type HttpClientResponse } from "effect/http"
class Down extends Data.TaggedError("Down") {}
class Lost extends Data.TaggedError("Lost") {}
declare const some: <A>() => A
const execute = (): Effect.Effect<number, Down | Lost> => Effect.succeed(1)
const find = Tool.make("find", { success: Schema.Int, effects: "read", timeout: "1 second", execute })
const pay = Tool.make("pay", { success: Schema.Int, effects: "write", idempotency: true, needsApproval: true, execute })
const asText = Agent.make("text", { tools: [find] })
const asNumber = Agent.make("number", { input: Schema.Int, output: Schema.Int, tools: [find, pay] })
const chat = Agent.make("chat", { input: Schema.declare((u): u is Prompt.Prompt => Prompt.isPrompt(u)), tools: [find] })
const fixer = Agent.make("fixer", { tools: [Tool.escalate, Tool.throwException] })
const weather = AiTool.make("weather", { parameters: Schema.Struct({ city: Schema.String }), success: Schema.Int })
const onFailure = { description: "", parameters: Schema.String, success: Schema.String }
const own = (recover: typeof find.call) => recover
declare const call: Effect.Effect<number, Exclude<Tool.Error<typeof find>, Tool.BehindRecovery>, ToolCall.ToolCall>
const subject = some<Subject.Subject<string, string, AiError.AiError>>()
`

/** By module and name. */
export const typical: Readonly<Record<string, string>> = {
  "@recourse/ai-sdk/AiSdk.withOptions": "asText.run(\"go\").pipe(AiSdk.withOptions({}))",
  "@recourse/core/Agent.all": "Agent.all(\"all\", [asText, asText])",
  "@recourse/core/Agent.andThen":
    "asText.pipe(Agent.andThen(Agent.fromFunction(\"length\", (text: string) => Effect.succeed(text.length))))",
  "@recourse/core/Agent.asTool": "asText.pipe(Agent.asTool(\"ask\", onFailure))",
  "@recourse/core/Agent.bestOf":
    "Agent.bestOf(asText, { n: 2, judge: Agent.fromFunction(\"judge\", (_: Agent.Candidates<string, string>) => Effect.succeed(0)) })",
  "@recourse/core/Agent.branch":
    "Agent.branch(\"by length\", (text: string) => text.length > 1, { onTrue: asText, onFalse: fixer })",
  "@recourse/core/Agent.firstOf": "Agent.firstOf(\"first\", [asText, asText])",
  "@recourse/core/Agent.compensated": "asText.pipe(Agent.compensated({}))",
  "@recourse/core/Agent.forCalls": "Agent.forCalls(\"calls\", { tools: [find] })",
  "@recourse/core/Agent.fromFunction": "Agent.fromFunction(\"length\", (text: string) => Effect.succeed(text.length))",
  "@recourse/core/Agent.handoff": "Agent.handoff(\"support\", { start: \"chat\", agents: { chat } })",
  "@recourse/core/Agent.handoffTo": "Agent.handoffTo(\"billing\", { description: \"Bills\" })",
  "@recourse/core/Agent.isResumable": "Agent.isResumable(asText)",
  "@recourse/core/Agent.loopUntil": "asText.pipe(Agent.loopUntil((text) => text.length > 3, { times: 3 }))",
  "@recourse/core/Agent.make": "Agent.make(\"a\", { tools: [find, pay], defaults: { onError: Recovery.standard } })",
  "@recourse/core/Agent.partialOutput":
    "asText.stream(\"go\").pipe(Agent.partialOutput(Schema.Struct({ title: Schema.String })))",
  "@recourse/core/Agent.provide": "asText.pipe(Agent.provide(ScriptedModel.layer([]))).run",
  "@recourse/core/Agent.revise":
    "Agent.revise(asText, { times: 2, judge: (text) => text.length > 3 ? undefined : text })",
  "@recourse/core/Agent.route":
    "Agent.route(\"by length\", (text: string) => text.length > 1 ? \"long\" as const : \"short\" as const, { long: asText, short: fixer })",
  "@recourse/core/Agent.skill": "Agent.skill(\"one\", { description: \"\", tools: [find] })",
  "@recourse/core/Agent.vote": "asText.pipe(Agent.vote(3))",
  "@recourse/core/AiToolkit.fromTool": "AiToolkit.fromTool(weather, () => Effect.succeed(1))",
  "@recourse/core/AiToolkit.fromToolkit":
    "Effect.map(Toolkit.make(weather), (toolkit) => AiToolkit.fromToolkit(toolkit, () => ({ effects: \"read\" as const })))",
  "@recourse/core/AiToolkit.toToolkit": "AiToolkit.toToolkit([find], { defaults: { onError: Recovery.standard } })",
  "@recourse/core/Approval.interactive":
    "asNumber.pipe(Approval.interactive((call) => Effect.succeed(Approval.approve(call))))",
  "@recourse/core/Catalogue.pick": "Catalogue.pick({ en: 1 }, \"en\")",
  "@recourse/core/Compensation.agent": "Compensation.agent(asText)",
  "@recourse/core/Conversation.resume": "Conversation.resume(chat, some<Parameters<typeof Conversation.resume>[1]>())",
  "@recourse/core/Conversation.stream": "Conversation.stream(chat, some<Parameters<typeof Conversation.stream>[1]>())",
  "@recourse/core/Conversation.send": "Conversation.send(chat, some<Parameters<typeof Conversation.send>[1]>())",
  "@recourse/core/ErrorProjection.declare": "ErrorProjection.declare<Down>({ code: \"not_found\" })",
  "@recourse/core/History.summarised": "History.summarised(asText)",
  "@recourse/core/ModelError.layer": "ModelError.layer(() => ModelError.retry({ times: 1 }))",
  "@recourse/core/ModelError.respondWith": "ModelError.respondWith(\"sorry\")",
  "@recourse/core/ModelFallback.layer":
    "ModelFallback.layer([ScriptedModel.layer([]), ScriptedModel.layer([])] as never)",
  "@recourse/core/Guardrail.change": "Guardrail.change(\"text\")",
  "@recourse/core/Policy.make": "Policy.make(\"p\", () => Policy.deny(\"no\"))",
  "@recourse/core/Policy.forTools": "Policy.make(\"p\", () => Policy.deny(\"no\")).pipe(Policy.forTools(find, pay))",
  "@recourse/core/Policy.maxCalls": "Policy.maxCalls(pay, 1)",
  "@recourse/core/Policy.onlyAfter": "Policy.onlyAfter(pay, find)",
  "@recourse/core/ProviderResponse.keep":
    "ProviderResponse.keep(new AiError.InternalProviderError({ description: \"\" }), \"\", (text) => text)",
  "@recourse/core/Quarantine.marked": "Quarantine.marked(some<Prompt.ProviderOptions>(), [\"find\"])",
  "@recourse/core/RequestInput.withTools": "RequestInput.withTools(asText.run(\"go\"))",
  "@recourse/core/Recovery.catchReason": "call.pipe(Recovery.catchReason(\"Down\", () => Effect.succeed(1)))",
  "@recourse/core/Recovery.catchReasons": "call.pipe(Recovery.catchReasons({ Down: () => Effect.succeed(1) }))",
  "@recourse/core/Recovery.circuitBreaker": "call.pipe(Recovery.circuitBreaker())",
  "@recourse/core/Recovery.escalate": "call.pipe(Recovery.escalate(\"Timeout\"))",
  "@recourse/core/Recovery.escalateWith":
    "call.pipe(Recovery.escalateWith(\"Timeout\", ({ tool }) => ({ reason: tool })))",
  "@recourse/core/Recovery.fallback": "call.pipe(Recovery.fallback(\"Timeout\", Effect.succeed(1)))",
  "@recourse/core/Recovery.fix": "call.pipe(Recovery.fix(\"InvalidArgs\", fixer))",
  "@recourse/core/Recovery.fixResult": "Recovery.fixResult(1)",
  "@recourse/core/Reconciliation.completed": "Reconciliation.completed(1)",
  "@recourse/core/Recovery.idempotent": "call.pipe(Recovery.idempotent())",
  "@recourse/core/Recovery.keepGoing": "call.pipe(Recovery.keepGoing)",
  "@recourse/core/Recovery.policy": "Recovery.policy({ InvalidArgs: { fix: fixer, otherwise: \"escalate\" } })",
  "@recourse/core/Recovery.retry": "call.pipe(Recovery.retry({ times: 1, while: ({ _tag }) => _tag === \"Timeout\" }))",
  "@recourse/core/Recovery.chatSafe": "call.pipe(Recovery.chatSafe)",
  "@recourse/core/Recovery.standard": "call.pipe(Recovery.standard)",
  "@recourse/core/RunRecord.fromCause":
    "Effect.mapError(asText.run(\"go\"), (error) => RunRecord.fromCause(Cause.fail(error)))",
  "@recourse/core/Skill.make": "Skill.make(\"one\", { description: \"\", tools: [find] })",
  "@recourse/core/Tool.client": "Tool.client(\"t\", { success: Schema.Int, effects: \"read\" })",
  "@recourse/core/Tool.fromJsonSchema": "Tool.fromJsonSchema(\"t\", { parameters: {}, success: Schema.Int, execute })",
  "@recourse/core/Tool.fromStandardSchema":
    "Tool.fromStandardSchema(\"t\", { parameters: some<StandardSchema.StandardSchemaV1<{ n: string }, { n: number }>>(), jsonSchema: {}, success: Schema.Int, execute })",
  "@recourse/core/Tool.make":
    "Tool.make(\"t\", { success: Schema.Int, effects: \"write\", timeout: \"1 second\", execute })",
  "@recourse/core/Tool.onError": "find.pipe(Tool.onError(Recovery.standard))",
  "@recourse/core/ToolCall.partial":
    "ToolCall.partial({ succeeded: [1], failed: [{ item: 1, code: \"c\", reason: \"r\" }] })",
  "@recourse/core/TransportRetry.retry":
    "TransportRetry.retry(some<Effect.Effect<HttpClientResponse.HttpClientResponse, Down>>())",
  "@recourse/core/TransportRetry.transform":
    "Effect.map(HttpClient.HttpClient, (client) => TransportRetry.transform(client))",
  "@recourse/durable/Durable.layer": "Durable.layer([Durable.make(asText)])",
  "@recourse/durable/Durable.layerClient": "Durable.layerClient([Durable.make(asText)])",
  "@recourse/durable/Durable.layerCron":
    "Durable.layerCron(Durable.make(asText), { name: \"daily\", cron: Cron.parseUnsafe(\"0 6 * * *\"), input: () => \"go\" })",
  "@recourse/durable/Durable.make": "Durable.make(asText)",
  "@recourse/durable/Signal.receive": "Signal.receive(\"parcel\", Schema.String)",
  "@recourse/mcp/Mcp.connect": "Mcp.connect(some<Mcp.Options<never, \"escalate\">>())",
  "@recourse/mcp/Mcp.layerServer": "Mcp.layerServer({ name: \"s\", tools: [find] })",
  "@recourse/mcp/Mcp.tools": "Mcp.tools(some<Mcp.Options<never, \"escalate\">>())",
  "@recourse/openai-compatible/OpenAiCompatible.withConfigOverride":
    "asText.run(\"go\").pipe(OpenAiCompatible.withConfigOverride({}))",
  "@recourse/openai-compatible/Settings.merge": "Settings.merge({}, {})",
  "@recourse/openai-compatible/Settings.withConfigOverride": "asText.run(\"go\").pipe(Settings.withConfigOverride({}))",
  "@recourse/server/Authentication.layer": "Authentication.layer(() => Effect.succeed(undefined))",
  "@recourse/server/Authentication.layerSession":
    "Authentication.layerSession({ cookie: \"c\", lookup: () => Effect.succeed(undefined) })",
  "@recourse/server/MemoryRuns.layer": "MemoryRuns.layer({ agents: [chat] })",
  "@recourse/server/Server.explained": "Server.explained(some<Layer.Layer<never, Error>>())",
  "@recourse/server/ServerApi.api": "ServerApi.api.identifier",
  "@recourse/sql/MysqlClient.layerConfig": "MysqlClient.layerConfig({ host: Config.String(\"HOST\") })",
  "@recourse/studio/NextFaults.runs": "NextFaults.runs(MemoryRuns.layer({ agents: [chat] }))",
  "@recourse/studio/Project.make": "Project.make({ agents: [asText] })",
  "@recourse/testing/Approver.run": "Approver.run(asNumber, 1)",
  "@recourse/testing/Drive.drive": "Drive.drive(asText.run(\"go\"))",
  "@recourse/testing/Evaluation.run": "Evaluation.run(some<Evaluation.Options<string>>())",
  "@recourse/testing/Experiment.parseCases":
    "Experiment.parseCases(\"\", { input: Schema.String, expected: Schema.Number })",
  "@recourse/testing/Experiment.run":
    "Experiment.run({ title: \"x\", cases: [{ input: \"go\", expected: \"\" }], agents: { asText }, scorers: { exact: Scorer.exact } })",
  "@recourse/testing/FaultSuite.run": "FaultSuite.run(subject, some<FaultSuite.FaultSuite>())",
  "@recourse/testing/FaultSuite.test":
    "FaultSuite.test(some<Parameters<typeof FaultSuite.test>[0]>(), subject, some<FaultSuite.FaultSuite>())",
  "@recourse/testing/Laws.check": "Laws.check(subject)",
  "@recourse/testing/Certify.host": "Certify.host(some<Layer.Layer<RunStore.RunStore, Down>>())",
  "@recourse/testing/Certify.runLog": "Certify.runLog(some<Layer.Layer<RunStore.RunStore, Down>>())",
  "@recourse/durable/Cluster.layerCron":
    "Cluster.layerCron(some<Durable.Durable<string, string, Down, never>>(), { name: \"daily\", cron: some<Cron.Cron>(), input: () => \"go\" })",
  "@recourse/testing/Laws.test": "Laws.test(some<Parameters<typeof Laws.test>[0]>(), subject)",
  "@recourse/testing/Scorer.judge": "Scorer.judge(Scorer.model(\"It is short.\"))",
  "@recourse/testing/Scorer.make":
    "Scorer.make((sample: Scorer.Sample<string, string, string>) => sample.output === sample.expected)",
  "@recourse/testing/Scorer.schema": "Scorer.schema(Schema.String)",
  "@recourse/testing/Replay.record": "Replay.record(asText, \"go\", some<Replay.RecordOptions>())",
  "@recourse/testing/Replay.run": "Replay.run(asText, some<Replay.Recording>(), some<Replay.ReplayOptions>())",
  "@recourse/testing/Simulation.run":
    "Simulation.run(subject, some<Parameters<typeof Simulation.run<string, string, AiError.AiError>>[1]>())",
  "@recourse/testing/Subject.make": "Subject.make({ agent: asText, tools: [find], scenarios: {} })",
  "@recourse/testing/VirtualTime.run": "VirtualTime.run(Effect.fail(new Down()))",
  "@recourse/testing/VirtualTime.runAll":
    "VirtualTime.runAll(some<ReadonlyArray<VirtualTime.Process<number, Down, never>>>())",
  "@recourse/testing/World.check":
    "World.check(World.make({ initial: 0, operations: {}, invariants: {} }), some<World.Program<string, string, Down>>())",
  "@recourse/core/ToolCall.tryPromise": "ToolCall.tryPromise(() => Promise.resolve(1), () => new Down())",
  "@recourse/core/ToolRun.call": "ToolRun.call(find, { id: \"1\", arguments: {} })",
  "@recourse/core/ToolRun.callPromise": "ToolRun.callPromise(find, { id: \"1\", arguments: {} })",
  "@recourse/core/ToolRun.make": "ToolRun.make(\"loop\", { tools: [find] })",
  "@recourse/core/ToolRun.open": "ToolRun.open(\"loop\", { tools: [find] })",
  "@recourse/ai-sdk/AiSdkTools.execute":
    "some<typeof import(\"@recourse/ai-sdk/AiSdkTools\")>().execute({ execute: (_: string) => Promise.resolve(1) }, () => new Down())(\"x\")",
  "@recourse/mastra/Mastra.execute":
    "some<typeof import(\"@recourse/mastra/Mastra\")>().execute({ execute: (_: string) => Promise.resolve(1) }, () => new Down())(\"x\")",
  "@recourse/langchain/LangChain.execute":
    "some<typeof import(\"@recourse/langchain/LangChain\")>().execute({ invoke: (_: string) => Promise.resolve(1) }, () => new Down())(\"x\")",
  "@recourse/openai-agents/OpenAiAgents.execute":
    "some<typeof import(\"@recourse/openai-agents/OpenAiAgents\")>().execute((_: string) => Promise.resolve(1), { catchError: () => new Down() })(\"x\")",
  "@recourse/openai-agents/OpenAiAgents.tools":
    "some<typeof import(\"@recourse/openai-agents/OpenAiAgents\")>().tools<Down>(some<ToolRun.Any>())",
  "@recourse/testing/World.make": "World.make({ initial: 0, operations: {}, invariants: { positive: (n) => n >= 0 } })"
}

/** Functions that answer whatever is in a text or a value from outside, and why that has no type. */
export const untyped: Readonly<Record<string, string>> = {
  "@recourse/core/Redaction.operatorCause": "what an error was caused by may be anything",
  "@recourse/core/JsonText.argumentsAt": "any JSON that a model has written",
  "@recourse/core/JsonText.argumentsOf": "any JSON that a model has written",
  "@recourse/core/JsonText.parseLossless": "any JSON that a text holds",
  "@recourse/core/JsonText.exactAt": "any JSON of a server",
  "@recourse/core/ToolSchema.inputOf": "the arguments of any schema",
  "@recourse/core/Redaction.json": "the JSON that it is given, redacted",
  "@recourse/json-repair/JsonRepair.coercer": "a request about whatever an executor has failed with",
  "@recourse/json-repair/JsonRepair.fixer": "a request about whatever an executor has failed with",
  "@recourse/core/ToolRun.make": "the call of a run decodes the arguments that another loop gives, of any type",
  "@recourse/core/ToolRun.open": "the call of a run decodes the arguments that another loop gives, of any type",
  "@recourse/langchain/LangChain.middleware": "a type of LangChain, with its own parameters",
  "@recourse/langchain/LangChain.tools": "a type of LangChain, with its own parameters",
  "@recourse/openai-agents/OpenAiAgents.tools": "a type of OpenAI Agents, with its own parameters",
  "@recourse/testing/Scorer.judge": "a judge that is a model scores answers of any type",
  "@recourse/testing/Scorer.schema": "answers of any type are held to a schema"
}

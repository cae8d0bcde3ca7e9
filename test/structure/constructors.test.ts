/** Constructors, called with the classic mistakes of first programs. */
import { assert, describe, it } from "@effect/vitest"
import { AiSdk } from "@recourse/ai-sdk"
import { Agent, Approval, Conversation, Policy, Recovery, Skill, Tool, ToolRun } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { Mcp } from "@recourse/mcp"
import { OpenAiCompatible } from "@recourse/openai-compatible"
import { Authentication, MemoryRuns, Server } from "@recourse/server"
import { FaultPlan, FaultSuite, Laws, ScriptedModel, Simulation, Subject } from "@recourse/testing"
import { Effect, Layer } from "effect"
import { McpServer } from "effect/ai"
import { FetchHttpClient, HttpRouter } from "effect/http"
import { refusal } from "../support/optionValues.ts"

const agent = Agent.fromFunction("a", (text: string) => Effect.succeed(text))
const tool = Tool.make("t", { execute: () => Effect.void })
const durable = Durable.make(agent)

const subject = Subject.make({
  agent,
  tools: [],
  scenarios: { first: { input: "Hi", model: [ScriptedModel.text("Hi")] } }
})

type Row = readonly [
  constructor: string,
  /** Words of the sentence, which name the expected value. */
  expected: string,
  call: (...args: ReadonlyArray<any>) => unknown,
  /** Lists of wrong arguments. */
  ...wrong: ReadonlyArray<ReadonlyArray<unknown>>
]

/** No name: an object, no argument, a list, a number, an agent in the first place. */
const noName = [[{}], [undefined], [["a"]], [3], [agent, "a"]]
/** A name, and no options behind it. */
const noOptions = [["a"], ["a", null], ["a", "b"], ["a", ["b"]]]
/** No options: a text, no argument, a list, a number, `null`. */
const notAnObject = [["a"], [undefined], [["a"]], [3], [null]]
/** No agent: those, a plain object, and a tool. */
const noAgent = [...notAnObject, [{}], [tool]]

const web = <A, E, R>(layer: Layer.Layer<A, E, R>) => Layer.provide(layer, FetchHttpClient.layer)
const registered = (options: never) =>
  Mcp.layerServer(options).pipe(
    Layer.provide(McpServer.layerHttp({ name: "s", version: "1", path: "/mcp", protocols: Mcp.protocols })),
    Layer.provide(HttpRouter.layer)
  )
const chat = { owner: "o", thread: "t", message: "Hi" }
const served = (options: never) =>
  Server.layer(options).pipe(Layer.provide([
    MemoryRuns.layer({ agents: [agent] }),
    Conversation.layerMemory,
    Authentication.layerAnonymous({ id: "ada" }),
    HttpRouter.layer
  ]))
const composed = { times: 1, start: "a", agents: { a: agent } }

const rows: ReadonlyArray<Row> = [
  ["Agent.make", "has to be the agent's name", Agent.make, ...noName],
  ["Agent.make", "have to be an object", Agent.make, ...noOptions],
  ["Agent.make", "Agent.asTool", Agent.make, ["a", { tools: [agent] }]],
  ["Agent.fromFunction", "its name", Agent.fromFunction, [agent], [undefined], [() => Effect.void]],
  ["Agent.andThen", "an agent, such as", (that) => Agent.andThen(that as never)(agent as never), ...noAgent],
  ["Agent.andThen", "an agent, such as", (self) => Agent.andThen(agent as never)(self as never), ...noAgent],
  ["Agent.all", "an agent, such as", (one) => Agent.all("all", [one]), ...noAgent],
  ["Agent.route", "an agent, such as", (one) => Agent.route("r", () => "x" as never, { x: one } as never), ...noAgent],
  ["Agent.route", "an object", (agents) => Agent.route("r", () => "x" as never, agents as never), ["a"], [undefined], [
    []
  ]],
  [
    "Agent.handoff",
    "an agent, such as",
    (one) => Agent.handoff("h", { ...composed, agents: { a: one } } as never),
    ["a"],
    [3],
    [{}],
    [tool]
  ],
  ["Agent.handoff", "an object", (options) => Agent.handoff("h", options as never), ...notAnObject, [{}]],
  ["Agent.forCalls", "the agent's name", Agent.forCalls, ...noName],
  ["Agent.forCalls", "an object", Agent.forCalls, ...noOptions],
  ["Agent.forCalls", "a list", (tools) => Agent.forCalls("c", { tools: tools as never }), ["a"], [undefined], [3], [
    tool
  ]],
  ["Agent.forCalls", "Agent.asTool", Agent.forCalls, ["c", { tools: [agent] }]],
  ["Agent.asTool", "the tool's name", (name, options) => Agent.asTool(name, options)(agent as never), ...noName],
  ["Agent.asTool", "an object", (name, options) => Agent.asTool(name, options)(agent as never), ...noOptions],
  [
    "Agent.asTool",
    "an agent, such as",
    (self) => Agent.asTool("t", { description: "d" } as never)(self as never),
    ...noAgent
  ],
  ["ToolRun.make", "first argument", ToolRun.make, ...noName],
  ["ToolRun.make", "an object", ToolRun.make, ...noOptions],
  ["Tool.make", "the tool's name", Tool.make, ...noName],
  ["Tool.make", "an object", Tool.make, ...noOptions],
  ["Tool.client", "the tool's name", Tool.client, ...noName],
  ["Tool.client", "an object", Tool.client, ...noOptions.slice(1)],
  ["Tool.client", "Use success", Tool.client, ["t", { outputSchema: {} }]],
  ["Tool.fromJsonSchema", "the tool's name", Tool.fromJsonSchema, ...noName],
  ["Tool.fromStandardSchema", "the tool's name", Tool.fromStandardSchema, ...noName],
  ["Tool.onError", "a tool, such as", (self) => Tool.onError(self as never, Recovery.standard as never), ["t"], [{}], [
    agent
  ]],
  ["Tool.onError", "a function", (recover) => Tool.onError(tool, recover as never), ["t"], [undefined], [{}]],
  ["Skill.make", "the skill's name", Skill.make, ...noName],
  ["Skill.make", "an object", Skill.make, ...noOptions],
  ["Skill.make", "tools", Skill.make, ["s", { description: "d", tools: tool }]],
  ["Policy.make", "the policy's name", Policy.make, [() => Policy.allow], [{}], [undefined]],
  ["Policy.make", "a function", Policy.make, ["p"], ["p", { decide: () => Policy.allow }], ["p", Policy.allow]],
  ["Approval.interactive", "a function", (ask) => Approval.interactive(ask as never)(agent as never), ["a"], [
    undefined
  ], [{}]],
  ["Conversation.send", "an agent, such as", (one) => Conversation.send(one, chat), ...noAgent],
  ["Conversation.send", "an object", (options) => Conversation.send(agent as never, options), ...notAnObject],
  ["Conversation.send", "owner", (options) => Conversation.send(agent as never, options), [{}], [{ thread: "t" }]],
  ["Conversation.send", "thread", (options) => Conversation.send(agent as never, options), [{ owner: "o" }]],
  ["Conversation.stream", "an agent, such as", (one) => Conversation.stream(one as never, chat), ...noAgent],
  [
    "Conversation.stream",
    "an object",
    (options) => Conversation.stream(agent as never, options as never),
    ...notAnObject
  ],
  ["Mcp.stdio", "ChildProcess.make(\"npx\"", Mcp.stdio, ...notAnObject, ["npx", ["server"]], [{ command: "npx" }]],
  ["Mcp.http", "a URL", Mcp.http, ["npx server"], [undefined], [{}], [3]],
  ["Mcp.http", "an object", Mcp.http, ["https://example.com/mcp", "token"]],
  ["Mcp.sse", "a URL", Mcp.sse, ["npx server"], [undefined], [{}], [3]],
  ["Mcp.connect", "an object", Mcp.connect, ...notAnObject],
  ["Mcp.tools", "name", Mcp.tools, [{}], [{ connect: Mcp.http("https://example.com") }]],
  ["Mcp.tools", "connect", Mcp.tools, [{ name: "s" }], [{ name: "s", connect: "npx server" }]],
  ["Mcp.layerServer", "an object", registered, ...notAnObject],
  ["Mcp.layerServer", "a list of tools", registered, [{}], [{ tools: tool }], [{ tools: [agent] }]],
  ["Durable.make", "an agent, such as", Durable.make, ...noAgent, ["a", agent]],
  [
    "Durable.layer",
    "a list of durable agents",
    (agents) => Layer.provide(Durable.layer(agents), RunStore.layerMemory),
    ["a"],
    [undefined],
    [agent],
    [durable],
    [{}]
  ],
  [
    "Durable.layer",
    "Durable.make(agent)",
    (agents) => Layer.provide(Durable.layer(agents), RunStore.layerMemory),
    [[agent]],
    [["a"]],
    [[undefined]]
  ],
  ["Server.layer", "an object", served, ...notAnObject],
  ["Server.layer", "{ name, description, tools }", served, [{}], [{ agents: agent }], [{ agents: ["a"] }]],
  ["MemoryRuns.layer", "an object", MemoryRuns.layer, ...notAnObject],
  ["MemoryRuns.layer", "Agent.make", MemoryRuns.layer, [{}], [{ agents: ["a"] }], [{ agents: [{ name: "a" }] }]],
  ["Authentication.layerBearer", "principal", Authentication.layerBearer, ...notAnObject, [["token"]], [{}]],
  ["ScriptedModel.layer", "ScriptedModel.text", ScriptedModel.layer, [undefined], [["Hello"]], [3]],
  ["Subject.make", "an object", Subject.make, ...notAnObject],
  ["Subject.make", "an agent, such as", Subject.make, [{}], [{ agent: "a" }], [{ agent: tool }]],
  ["Subject.make", "scenarios", Subject.make, [{ agent, tools: [] }], [{ agent, tools: [], scenarios: ["a"] }]],
  ["Simulation.run", "a subject: Subject.make", Simulation.run, ...noAgent, [agent]],
  ["Simulation.run", "a scenario of the subject: first", Simulation.run, [subject], [subject, "first"]],
  ["Laws.check", "a subject: Subject.make", Laws.check, ...noAgent, [agent]],
  ["FaultSuite.run", "a subject: Subject.make", FaultSuite.run, ...noAgent, [agent]],
  ["FaultPlan.make", "a list of faults", FaultPlan.make, ...notAnObject.filter(([one]) => !Array.isArray(one)), [[
    "a"
  ]]],
  ["OpenAiCompatible.layer", "an object", (options) => web(OpenAiCompatible.layer(options)), ...notAnObject],
  ["AiSdk.layer", "a model of an AI SDK provider", AiSdk.layer, [undefined], [{}], [["a"]], [null]],
  ["AiSdk.layer", "anthropic(\"claude-…\")", AiSdk.layer, ["anthropic/claude"], [() => {}]]
]

describe("a constructor with wrong arguments names the expected value", () => {
  for (const [name, expected, call, ...wrong] of rows) {
    it(`${name}: ${expected}`, () => {
      for (const args of wrong) {
        const sentence = refusal(() => call(...args)) ?? "no ConfigurationError"
        assert.include(sentence, expected, `${name}(${args.map((arg) => typeof arg).join(", ")})`)
      }
    })
  }
})

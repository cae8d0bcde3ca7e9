import { NodeHttpClient, NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Redacted, Schedule } from "effect"
import { LanguageModel } from "effect/ai"
import { ChildProcess } from "effect/process"
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Agent, Approval, ConfigurationError, Recovery, type Tool, ToolCall } from "@recourse/core"
import { Mcp } from "@recourse/mcp"
import { ScriptedModel } from "@recourse/testing"

const services = Layer.mergeAll(
  NodeServices.layer,
  NodeHttpClient.layerUndici,
  Approval.layerKey(Redacted.make("0123456789abcdef0123456789abcdef"))
)

const { resolve } = createRequire(import.meta.url)

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "recourse-mcp-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

const node = (...args: ReadonlyArray<string>) =>
  Mcp.stdio(ChildProcess.make(process.execPath, args, { killSignal: "SIGKILL" }))

const freePort = Effect.callback<number>((resume) => {
  const server = createServer().listen(0, () => {
    const address = server.address()
    server.close(() => resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0)))
  })
})

const run = (tool: Tool.Any, args: unknown) =>
  (tool.call as Effect.Effect<
    unknown,
    { readonly _tag: string; readonly reason?: unknown; readonly error?: unknown },
    ToolCall.ToolCall
  >)
    .pipe(Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id: "c1", arguments: args })))

/** The tag of a call's error, and of its reason. */
const failure = (tool: Tool.Any, args: unknown = {}) =>
  Effect.map(
    Effect.flip(run(tool, args)),
    (error) => [error._tag, (error.reason as { _tag?: string } | undefined)?._tag]
  )

const named = <T extends { readonly name: string }>(tools: ReadonlyArray<T>, name: string): T =>
  tools.find((tool) => tool.name === name) ?? assert.fail(`${name} of ${tools.map((tool) => tool.name).join()}`)

const odd = Effect.gen(function*() {
  const path = yield* folder
  const log = join(path, "log")
  const down = join(path, "down")
  const server = fileURLToPath(new URL("../servers/odd.mjs", import.meta.url))
  const read = () => existsSync(log) ? readFileSync(log, "utf8").trim().split("\n") : []
  return { connect: node(server, log, down), read, down }
})

describe("server-everything, the reference server", () => {
  const everything = node(resolve("@modelcontextprotocol/server-everything/dist/index.js"), "stdio")

  it.live(
    "runs two read-only echoes without approval, untrusted for the model",
    () =>
      Effect.gen(function*() {
        const tools = yield* Mcp.tools({ name: "every", connect: everything })
        const { model, script } = yield* ScriptedModel.make([
          ScriptedModel.call("every_echo", { message: "one" }),
          ScriptedModel.call("every_echo", { message: "two" }),
          ScriptedModel.text("done")
        ])
        const agent = Agent.make("a", { tools, defaults: { onError: Recovery.standard } })
        const { executed, exit } = yield* agent.report("go").pipe(
          Effect.provideService(LanguageModel.LanguageModel, model)
        )
        assert.deepStrictEqual(exit, Exit.succeed("done"))
        assert.deepStrictEqual(executed.map(({ outcome }) => outcome), ["success", "success"])
        const last = JSON.stringify(yield* script.lastRequest)
        assert.include(last, "Echo: one")
        assert.include(last, "Echo: two")
        assert.include(last, "begins here")
      }).pipe(Effect.scoped, Effect.provide(services)),
    30_000
  )

  it.live(
    "refuses wrong arguments before the request; pictures and structures arrive whole",
    () =>
      Effect.gen(function*() {
        const tools = yield* Mcp.tools({ name: "every", connect: everything })
        assert.deepStrictEqual(yield* failure(named(tools, "every_get-sum"), { a: "1", b: 2 }), [
          "InvalidArgs",
          undefined
        ])
        const sum = (yield* run(named(tools, "every_get-sum"), { a: 1, b: 2 })) as Mcp.McpResult
        assert.include(JSON.stringify(sum.content), "3")
        const picture = (yield* run(named(tools, "every_get-tiny-image"), {})) as Mcp.McpResult
        assert.isTrue(picture.content.some((block) => block.type === "image" && block.data.length > 100))
        const weather =
          (yield* run(named(tools, "every_get-structured-content"), { location: "Chicago" })) as Mcp.McpResult
        assert.isNumber((weather.structuredContent as { temperature: number }).temperature)
      }).pipe(Effect.scoped, Effect.provide(services)),
    30_000
  )
})

describe("streamable HTTP", () => {
  it.live(
    "calls the reference server, and sends none to a missing one",
    () =>
      Effect.gen(function*() {
        const port = yield* freePort
        const started = yield* ChildProcess.make(
          process.execPath,
          [resolve("@modelcontextprotocol/server-everything/dist/index.js"), "streamableHttp"],
          { env: { PORT: String(port) }, extendEnv: true, stdout: "ignore", stderr: "ignore" }
        )
        const tools = yield* Mcp.tools({
          name: "every",
          connect: Mcp.http(`http://127.0.0.1:${port}/mcp`),
          trust: "trusted",
          toolErrors: "fail"
        }).pipe(Effect.retry(Schedule.max([Schedule.spaced("100 millis"), Schedule.recurs(100)])))
        const echo = named(tools, "every_echo")
        assert.include(JSON.stringify(yield* run(echo, { message: "one" })), "Echo: one")
        yield* started.kill({ killSignal: "SIGKILL" })
        assert.deepStrictEqual(yield* failure(echo, { message: "two" }), ["ExecutionError", "McpRequestNotSent"])
      }).pipe(Effect.scoped, Effect.provide(services)),
    30_000
  )
})

describe("server-filesystem", () => {
  it.live(
    "annotations become effects, and tools' messages reach the model",
    () =>
      Effect.gen(function*() {
        const path = yield* folder
        writeFileSync(join(path, "a.txt"), "hello")
        const tools = yield* Mcp.tools({
          name: "files",
          connect: node(resolve("@modelcontextprotocol/server-filesystem/dist/index.js"), path)
        })
        const effects = new Map(tools.map((tool) => [tool.name, tool.effects]))
        assert.strictEqual(effects.get("files_read_text_file"), "read")
        assert.strictEqual(effects.get("files_edit_file"), "write")
        const { model, script } = yield* ScriptedModel.make([
          ScriptedModel.call("files_read_text_file", { path: join(path, "b.txt") }),
          ScriptedModel.call("files_read_text_file", { path: join(path, "a.txt") }),
          ScriptedModel.text("done")
        ])
        const agent = Agent.make("a", { tools, defaults: { onError: Recovery.standard } })
        assert.strictEqual(
          yield* agent.run("go").pipe(Effect.provideService(LanguageModel.LanguageModel, model)),
          "done"
        )
        const [, second] = (yield* script.requests).map((request) => JSON.stringify(request))
        assert.include(second, "ENOENT")
        assert.include(second, "mcp_tool_error")
        assert.include(second, "untrusted")
        assert.include(JSON.stringify(yield* script.lastRequest), "hello")
      }).pipe(Effect.scoped, Effect.provide(services)),
    30_000
  )
})

describe("servers on bad days", () => {
  it.live("each failure has its name, in the type if requested", () =>
    Effect.gen(function*() {
      const { connect, read } = yield* odd
      const tools = yield* Mcp.tools({ name: "odd", connect, toolErrors: "fail", trust: "trusted" })
      const one = (name: string) => named(tools, `odd_${name}`)
      assert.deepStrictEqual(yield* failure(one("says_no")), ["ExecutionError", "McpToolError"])
      assert.deepStrictEqual(yield* failure(one("pay_says_no")), ["OutcomeUnknown", "McpToolError"])
      assert.deepStrictEqual(yield* failure(one("code"), { code: -32602 }), ["ExecutionError", "McpInvalidArgs"])
      assert.deepStrictEqual(yield* failure(one("code"), { code: -32603 }), ["ExecutionError", "McpProtocolError"])
      assert.deepStrictEqual(yield* failure(one("code"), { code: -32601 }), ["ExecutionError", "McpRequestRefused"])
      assert.deepStrictEqual(yield* failure(one("code"), { code: -32001 }), ["ExecutionError", "McpServerTimeout"])
      assert.deepStrictEqual(yield* failure(one("leaves")), ["ExecutionError", "McpUnknownTool"])
      assert.deepStrictEqual(yield* failure(one("wrong_result")), ["InvalidResult", undefined])
      assert.isUndefined(one("plain").effects)
      // No call was tried twice.
      assert.strictEqual(read().filter((line) => line === "says_no").length, 1)
    }).pipe(Effect.scoped, Effect.provide(services)), 30_000)

  it.live(
    "Recovery.standard reports reads' messages, and writes' with unknown outcome",
    () =>
      Effect.gen(function*() {
        const { connect, read } = yield* odd
        const tools = yield* Mcp.tools({ name: "odd", connect, trust: "trusted" })
        const { model, script } = yield* ScriptedModel.make([
          ScriptedModel.call("odd_says_no", {}),
          ScriptedModel.call("odd_pay_says_no", {}),
          ScriptedModel.text("done")
        ])
        const agent = Agent.make("a", { tools, defaults: { onError: Recovery.standard } })
        yield* agent.run("go").pipe(Effect.provideService(LanguageModel.LanguageModel, model))
        const results = (yield* script.lastRequest).prompt.content.flatMap((message) =>
          message.role === "tool"
            ? message.content.flatMap((part) => part.type === "tool-result" ? [part.result] : [])
            : []
        ) as ReadonlyArray<{ readonly code: string; readonly message_for_model: string }>
        assert.deepStrictEqual(results.map(({ code }) => code), ["mcp_tool_error", "outcome_unknown"])
        for (const { message_for_model } of results) assert.include(message_for_model, "There is no file of that name.")
        assert.deepStrictEqual(read(), ["started", "says_no", "pay_says_no"])
      }).pipe(Effect.scoped, Effect.provide(services)),
    30_000
  )

  it.live(
    "a server that dies in a call: unknown write, then restart",
    () =>
      Effect.gen(function*() {
        const { connect, read } = yield* odd
        const tools = yield* Mcp.tools({ name: "odd", connect, toolErrors: "fail", trust: "trusted" })
        const pay = tools.find((tool) => tool.name.startsWith("odd_pay_and_die"))!
        assert.match(pay.name, /^odd_pay_and_die_[0-9a-f]{8}$/)
        assert.deepStrictEqual(yield* failure(pay), ["OutcomeUnknown", "McpResponseLost"])
        assert.deepStrictEqual(yield* failure(named(tools, "odd_die")), ["ExecutionError", "McpResponseLost"])
        const plain = (yield* run(named(tools, "odd_plain"), {})) as Mcp.McpResult
        assert.deepStrictEqual(plain.content.map((block) => block.type), ["text"])
        assert.deepStrictEqual(read(), ["started", "pay and die", "started", "die", "started", "plain"])
      }).pipe(Effect.scoped, Effect.provide(services)),
    30_000
  )

  it.live("a server that is stopped in a call: unknown write", () =>
    Effect.gen(function*() {
      const { connect, read } = yield* odd
      // The server's own limit, which is for its start as well, stays at a minute.
      const options = { "pay and stop": { timeout: "1 second" } } as const
      const tools = yield* Mcp.tools({ name: "odd", connect, trust: "trusted", options })
      const stop = tools.find((tool) => tool.name.startsWith("odd_pay_and_stop"))!
      assert.deepStrictEqual((yield* failure(stop))[0], "OutcomeUnknown")
      const [started, paid, pid] = read()
      assert.deepStrictEqual([started, paid], ["started", "pay and stop"])
      // It would take ten seconds to end.
      process.kill(Number(pid), "SIGKILL")
    }).pipe(Effect.scoped, Effect.provide(services)), 30_000)

  it.live("an unstartable server is left alone, and used again later", () =>
    Effect.gen(function*() {
      const { connect, down, read } = yield* odd
      const tools = yield* Mcp.tools({ name: "odd", connect, toolErrors: "fail", trust: "trusted" })
      const plain = named(tools, "odd_plain")
      writeFileSync(down, "")
      assert.deepStrictEqual(yield* failure(named(tools, "odd_die")), ["ExecutionError", "McpResponseLost"])
      assert.deepStrictEqual(yield* failure(plain), ["ExecutionError", "McpRequestNotSent"])
      assert.deepStrictEqual(yield* failure(plain), ["ExecutionError", "McpRequestNotSent"])
      assert.deepStrictEqual(yield* failure(plain), ["ExecutionError", "McpServerGone"])
      rmSync(down)
      yield* run(plain, {}).pipe(Effect.retry(Schedule.max([Schedule.spaced("100 millis"), Schedule.recurs(50)])))
      assert.deepStrictEqual(read(), ["started", "die", "started", "plain"])
    }).pipe(Effect.scoped, Effect.provide(services)), 30_000)

  it.live("an interrupted or late call is cancelled at the server", () =>
    Effect.gen(function*() {
      const { connect, read } = yield* odd
      const tools = yield* Mcp.tools({
        name: "odd",
        connect,
        trust: "trusted",
        options: { hang: { timeout: "50 millis" } }
      })
      const hang = named(tools, "odd_hang")
      const seen = (count: number) =>
        Effect.suspend(() =>
          read().filter((line) => line === "cancelled").length >= count ? Effect.void : Effect.fail("not yet")
        ).pipe(Effect.retry(Schedule.max([Schedule.spaced("20 millis"), Schedule.recurs(200)])))
      assert.deepStrictEqual((yield* failure(hang))[0], "Timeout")
      yield* seen(1)
      const slow = yield* Mcp.tools({ name: "odd", connect, trust: "trusted" })
      const fiber = yield* Effect.forkChild(run(named(slow, "odd_hang"), {}))
      yield* Effect.suspend(() => read().filter((line) => line === "hang").length === 2 ? Effect.void : Effect.fail(""))
        .pipe(
          Effect.retry(Schedule.max([Schedule.spaced("20 millis"), Schedule.recurs(200)]))
        )
      yield* Fiber.interrupt(fiber)
      yield* seen(2)
    }).pipe(Effect.scoped, Effect.provide(services)), 30_000)

  it.live("an unknown name in `options` is a mistake of the program", () =>
    Effect.gen(function*() {
      const { connect } = yield* odd
      const exit = yield* Effect.exit(Mcp.tools({ name: "odd", connect, options: { plian: {} } }))
      const defect = exit._tag === "Failure"
        ? exit.cause.reasons.find((reason) => reason._tag === "Die")?.defect
        : undefined
      assert.instanceOf(defect, ConfigurationError.ConfigurationError)
    }).pipe(Effect.scoped, Effect.provide(services)), 30_000)
})

/** The command `recourse-studio` in a process. */
import { writeFileSync } from "node:fs"
import { createServer, request } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { Project } from "@recourse/studio"
import { assert, describe, it } from "vitest"
import { commandInFolder, freePort, json } from "./support/command.ts"
import { eventually } from "./support/talk.ts"

const { folder, run, start } = commandInFolder()

const file = join(folder, "agents.ts")

const agents = (description: string) => `
import { Agent, Recovery, Tool } from "@recourse/core"
import { Project } from "@recourse/studio"
import { Context, Effect, Layer, Schema } from "effect"
import { Prompt } from "effect/ai"

class Orders extends Context.Service<Orders, string>()("Orders") {}

const FindOrder = Tool.make("find_order", {
  description: "${description}",
  parameters: Schema.Struct({ id: Schema.String }),
  success: Schema.String,
  effects: "read",
  execute: ({ id }) => Effect.map(Orders, (orders) => orders + id)
})

const Wait = Tool.make("wait", { description: "Waits", effects: "read", execute: () => Effect.sleep("1 minute") })

const support = Agent.make("support", {
  input: Prompt.Prompt,
  prompt: (conversation) => conversation,
  tools: [FindOrder, Wait],
  defaults: { onError: Recovery.standard }
})

export default Project.make({ agents: [support], services: Layer.succeed(Orders, "Order ") })
`

/** Answer to a page whose name leads to this machine. */
const statusAs = (host: string, port: number): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    const headers = { host: `${host}:${port}`, origin: `http://${host}:${port}` }
    request({ host: "127.0.0.1", port, path: "/agents", headers }, (response) => {
      response.resume()
      resolve(response.statusCode)
    }).on("error", reject).end()
  })

describe("recourse-studio", () => {
  it("serves a project without a key, also after changes, keeping conversations", async () => {
    writeFileSync(file, agents("Finds an order"))
    const port = await freePort()
    const url = `http://127.0.0.1:${port}`
    const { child, ended, said } = start("--agents", file, "--port", String(port))
    await eventually(() => said().includes(`${url}/chat`), 20_000)
    assert.include(said(), "scripted")
    assert.include(await json(`${url}/agents`), "Finds an order")
    assert.strictEqual((await fetch(`${url}/chat`)).status, 200)
    assert.deepStrictEqual(
      await Promise.all(
        ["localhost", "[::1]", "agents.localhost", "evil.example", ""].map((host) => statusAs(host, port))
      ),
      [200, 200, 200, 403, 403]
    )
    const chat = (thread: string, text: string) =>
      fetch(`${url}/agents/support/chat`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({
          id: thread,
          trigger: "submit-message",
          messages: [{ id: `${thread}-m`, role: "user", parts: [{ type: "text", text }] }]
        })
      })
    assert.include(await (await chat("t1", "/find_order {\"id\":\"7\"}")).text(), "Order 7")
    // The run's timeline is in the terminal.
    await eventually(() => said().includes("ms  find_order"), 5_000)
    writeFileSync(file, agents("Finds what was ordered"))
    await eventually(
      async () => (await json(`${url}/agents`).catch(() => "")).includes("Finds what was ordered"),
      60_000
    )
    assert.include(await json(`${url}/threads/t1`), "Order 7")
    const goesOn = (await chat("t2", "/wait")).text()
    child.kill("SIGTERM")
    // The page receives the end of the run, before its connection is closed.
    assert.isTrue((await goesOn).endsWith("data: [DONE]\n\n"))
    await ended
    const after = await fetch(`${url}/agents`).then(() => "answers", () => "gone")
    assert.strictEqual(after, "gone")
  }, 120_000)

  it("reports invalid options, and ends", async () => {
    writeFileSync(file, agents("Finds"))
    writeFileSync(join(folder, "empty.ts"), "export const answer = 42\n")
    writeFileSync(join(folder, "broken.ts"), "export const answer = (\n")
    const taken = createServer()
    await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve))
    const { port } = taken.address() as AddressInfo
    const busy = new RegExp(`Port ${port} is taken\\. .*--port ${port + 1}`)
    const given: ReadonlyArray<readonly [args: ReadonlyArray<string>, sentence: RegExp, code: number]> = [
      [["--agents", join(folder, "none.ts")], /none\.ts/, 1],
      [
        ["--agents", join(folder, "empty.ts"), "--no-watch"],
        /empty\.ts exports no agents: export agents of Agent\.make/,
        2
      ],
      [["--agents", join(folder, "broken.ts"), "--no-watch"], /broken\.ts cannot be loaded: SyntaxError/, 2],
      [["--agents", file, "--port", String(port)], busy, 2],
      [["--agents", file, "--port", String(port), "--no-watch"], busy, 2],
      [["--agents", file, "--no-watch", "--preset", "openai"], /LLM_MODEL/, 2]
    ]
    const ends = await Promise.all(given.map(([args]) => run(...args)))
    taken.close()
    for (const [index, [, sentence, code]] of given.entries()) {
      assert.match(ends[index]!.said, sentence)
      assert.strictEqual(ends[index]!.code, code)
    }
  }, 60_000)
})

describe("the scripted model of development", () => {
  const asked = (text: string) =>
    Project.repeating({
      prompt: { content: [{ role: "user", content: [{ type: "text", text }] }] } as never,
      tools: ["find_order"],
      format: "text",
      streaming: true
    }, 3)

  it("calls the commanded tool, with the arguments unchanged", () => {
    assert.deepInclude(asked("/find_order {\"id\": \"7\"}"), {
      calls: [{ name: "find_order", params: { id: "7" }, id: "call_3_find_order" }]
    })
    assert.deepInclude(asked("/find_order"), { calls: [{ name: "find_order", params: {}, id: "call_3_find_order" }] })
    assert.deepInclude(asked("/find_order {"), {
      calls: [{ name: "find_order", params: "{", id: "call_3_find_order" }]
    })
    assert.notProperty(asked("/other {}"), "calls")
  })

  it("declares that it is a script, with advice for a model", () => {
    const { text } = asked("Hello") as { readonly text: string }
    assert.match(text, /^You said: Hello/)
    assert.include(text, "/find_order")
    assert.include(text, "--preset openai")
  })
})

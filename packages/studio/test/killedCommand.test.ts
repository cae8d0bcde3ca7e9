/** The command `recourse-studio` with durable runs, killed and started again. */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "vitest"
import { commandInFolder, freePort, json } from "./support/command.ts"
import { eventually } from "./support/talk.ts"

const { folder, start } = commandInFolder()

/** An agent that books, looks for a while, and answers that all is booked. Its actions are written to a file. */
const travel = (deeds: string) => `
import { appendFileSync } from "node:fs"
import { Agent, Recovery, Tool } from "@recourse/core"
import { Project } from "@recourse/studio"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Schema } from "effect"
import { Prompt } from "effect/ai"

const tool = (name, effects, pause) =>
  Tool.make(name, {
    success: Schema.String,
    effects,
    execute: () =>
      Effect.andThen(Effect.sync(() => appendFileSync(${
  JSON.stringify(deeds)
}, name + "\\n")), Effect.as(Effect.sleep(pause), "done"))
  })

const agent = Agent.make("travel", {
  input: Prompt.Prompt,
  prompt: (conversation) => conversation,
  tools: [tool("book", "write", 1), tool("look", "read", 1500)],
  defaults: { onError: Recovery.keepGoing }
})

export default Project.make({
  agents: [agent],
  script: ({ prompt }) =>
    [ScriptedModel.call("book", {}, { id: "b" }), ScriptedModel.call("look", {}, { id: "l" })][
      prompt.content.filter(({ role }) => role === "assistant").length
    ] ?? ScriptedModel.text("All is booked.")
})
`

it("recourse-studio continues durable runs after kill -9 without repeated calls", async () => {
  const deeds = join(folder, "deeds")
  const module = join(folder, "travel.ts")
  const data = join(folder, "durable")
  writeFileSync(deeds, "")
  writeFileSync(module, travel(deeds))
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const serve = async () => {
    const served = start(
      "--agents",
      module,
      "--port",
      String(port),
      "--no-watch",
      "--durable",
      "--data",
      data,
      "--no-timeline"
    )
    await eventually(() => served.said().includes(`${url}/chat`), 20_000)
    return served
  }
  const done = () => readFileSync(deeds, "utf8").split("\n").filter((line) => line !== "")
  const first = await serve()
  assert.include(first.said(), "runs.db")
  const chat = fetch(`${url}/agents/travel/chat`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      id: "t1",
      trigger: "submit-message",
      messages: [{ id: "m1", role: "user", parts: [{ type: "text", text: "To Rome" }] }]
    })
  }).then((response) => response.text()).catch(() => "")
  await eventually(() => done().includes("look"), 20_000)
  const key = readFileSync(join(data, "snapshot-key"), "utf8")
  first.child.kill("SIGKILL")
  await first.ended
  await chat
  assert.deepEqual(done(), ["book", "look"])
  const next = await serve()
  await eventually(async () => (await json(`${url}/threads/t1`)).includes("All is booked."), 20_000)
  // Completed calls are not repeated; a running read is.
  assert.deepEqual(done(), ["book", "look", "look"])
  assert.notInclude(next.said(), "ms  look")
  const { runs } = JSON.parse(await json(`${url}/operator/runs`)) as {
    readonly runs: ReadonlyArray<{ readonly runId: string; readonly status: string }>
  }
  assert.deepEqual(runs.map(({ status }) => status), ["completed"])
  const told = await (await fetch(`${url}/runs/${runs[0]!.runId}/events`)).text()
  assert.strictEqual(told.split("\"_tag\":\"RunFinished\"").length, 2)
  assert.strictEqual(readFileSync(join(data, "snapshot-key"), "utf8"), key)
}, 60_000)

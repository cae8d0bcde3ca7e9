/** An agent whose tool a page executes, and a process that runs it: `node guide.ts <address> <log> <prefix> <killAt>`. */
import { NodeRuntime } from "@effect/platform-node"
import { Agent, Recovery, Tool } from "@recourse/core"
import { Durable } from "@recourse/durable"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Layer, Schema } from "effect"
import { appendFileSync } from "node:fs"
import type { SqlAddress } from "../support/connections.ts"
import { type Moment, stores } from "./chief.ts"

/** Books, has the page find the position or sign, and pays. `moment` is called around each write. */
export const guide = (log: string, moment: Moment) => {
  const write = (name: string) =>
    Tool.make(name, {
      parameters: Schema.Struct({ run: Schema.String }),
      success: Schema.String,
      effects: "write",
      execute: ({ run }) =>
        Effect.sync(() => {
          moment()
          appendFileSync(log, `${run} ${name}\n`)
          moment()
          return name
        })
    })
  const atPage = <const Name extends string>(name: Name, effects: "read" | "write") =>
    Tool.client(name, { success: Schema.Struct({ city: Schema.String }), effects, trust: "trusted" })
  const Guide = Durable.make(
    Agent.make("guide", {
      tools: [write("book"), write("pay"), atPage("position", "read"), atPage("sign", "write")],
      defaults: { onError: Recovery.keepGoing }
    })
  )
  const model = ScriptedModel.layer(({ prompt }) => {
    const text = JSON.stringify(prompt.content)
    const [, run = "", client = ""] = /go (\S+) (position|sign)/.exec(text) ?? []
    const turns = [
      ScriptedModel.call("book", { run }, { id: "c1" }),
      ScriptedModel.call(client, {}, { id: "c2" }),
      ScriptedModel.call("pay", { run }, { id: "c3" })
    ]
    return turns[prompt.content.filter(({ role }) => role === "assistant").length] ??
      ScriptedModel.text(text.includes("Rome") ? "Rome" : "nowhere")
  })
  return { Guide, model }
}

if (import.meta.main) {
  const [address, log, prefix, killAt] = process.argv.slice(2) as [string, string, string, string]
  let moments = 0
  const moment = (): void => {
    if (++moments === Number(killAt)) process.kill(process.pid, "SIGKILL")
  }
  const { Guide, model } = guide(log, moment)
  const runners = Durable.layer([Guide], { lease: 1200, poll: 50 }).pipe(
    Layer.provide([stores(JSON.parse(address) as SqlAddress, prefix, moment), model])
  )
  NodeRuntime.runMain(Effect.scoped(Effect.provide(Effect.never, runners)))
}

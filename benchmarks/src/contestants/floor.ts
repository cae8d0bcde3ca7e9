/** A hand-written loop with zod: the minimal cost of the work. */
import { z } from "zod"
import type { Contestant } from "../Contestant.ts"
import { instructions, question, script, type Task } from "../Task.ts"

type Message =
  | { readonly role: "system" | "user" | "assistant"; readonly content: string }
  | { readonly role: "calls"; readonly calls: Task["turns"][number]["calls"] }
  | { readonly role: "tool"; readonly id: string; readonly result: unknown }

const Parameters = z.object({ n: z.number() })

const loop = (task: Task, answerOf: (text: ReadonlyArray<string>) => Promise<string> | string) => {
  const ask = script(task, 2, ({ calls }) => 1 + calls.length, (turn) => turn)
  const execute = async (json: string): Promise<unknown> => {
    const { n } = Parameters.parse(JSON.parse(json))
    for (let attempt = 0;; attempt++) {
      try {
        return task.execute(n)
      } catch (error) {
        if (task.onFailure === "tell") return { error: "Down" }
        if (task.onFailure === "none" || attempt === 2) throw error
      }
    }
  }
  return async () => {
    const messages: Array<Message> = [{ role: "system", content: instructions }, { role: "user", content: question }]
    while (true) {
      const turn = await ask(messages.length)
      if (turn.calls.length === 0) return answerOf(turn.text)
      messages.push({ role: "calls", calls: turn.calls })
      const results = await Promise.all(turn.calls.map((call) => execute(call.arguments)))
      turn.calls.forEach((call, index) => messages.push({ role: "tool", id: call.id, result: results[index] }))
    }
  }
}

async function* deltas(text: ReadonlyArray<string>) {
  yield* text
}

export const contestant: Contestant = {
  prepare: async (task) => loop(task, (text) => text.join("")),
  prepareStream: async (task, onDelta) =>
    loop(task, async (text) => {
      let whole = ""
      for await (const delta of deltas(text)) {
        whole += delta
        onDelta(delta)
      }
      return whole
    })
}

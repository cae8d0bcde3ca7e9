/** A turn of the chat keeps the laws, whatever goes wrong with the model and the orders. */
import { it } from "@effect/vitest"
import { Laws, ScriptedModel, Subject } from "@recourse/testing"
import { Layer } from "effect"
import { Prompt } from "effect/ai"
import { Agent } from "@recourse/core"
import { agent, begin } from "../src/chat.ts"
import * as Double from "../src/double.ts"
import { Conversation } from "../src/missing.ts"

const asked = Prompt.concat(begin, "Where is order A-1001? Pay it back, it is late.")

Laws.test(
  { it },
  Subject.make({
    agent: agent.pipe(Agent.provide(Layer.merge(Double.layer, Layer.succeed(Conversation, asked)))),
    scenarios: {
      default: {
        input: asked,
        model: [
          ScriptedModel.calls([
            { name: "order_status", params: { orderId: "A-1001" } },
            { name: "order_status", params: { orderId: "A-2003" } }
          ]),
          ScriptedModel.call("refund", { orderId: "A-1001", reason: "late" }),
          ScriptedModel.text("It is on its way, and so is your money.")
        ]
      }
    }
  }),
  { runs: Number(process.env["RECOURSE_PLANS"] ?? 25), seed: Number(process.env["RECOURSE_SEED"] ?? 1) }
)

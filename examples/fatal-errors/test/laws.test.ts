/** Failures that are not fatal are still lawful, for any fault of the model and the tickets. */
import { it } from "@effect/vitest"
import { Laws, ScriptedModel, Subject } from "@recourse/testing"
import { Agent } from "@recourse/core"
import { desk } from "../src/desk.ts"
import * as Double from "../src/double.ts"

Laws.test(
  { it },
  Subject.make({
    agent: desk.pipe(Agent.provide(Double.layer)),
    scenarios: {
      default: {
        input: "Close the ticket about the printer",
        model: [
          ScriptedModel.calls([{ name: "get_ticket", params: { id: "T-1" } }, {
            name: "get_ticket",
            params: { id: "T-9" }
          }]),
          ScriptedModel.call("close_ticket", { id: "T-1" }),
          ScriptedModel.text("It is closed.")
        ]
      }
    }
  }),
  { runs: Number(process.env["RECOURSE_PLANS"] ?? 25), seed: Number(process.env["RECOURSE_SEED"] ?? 1) }
)

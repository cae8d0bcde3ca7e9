/** The agent under faults. Time is virtual: no test waits. */
import { FaultPlan, ScriptedModel, Simulation, Subject } from "@recourse/testing"
import { Effect, Exit } from "effect"
import { Prompt } from "effect/ai"
import assert from "node:assert/strict"
import { test } from "node:test"
import { support } from "../src/agents.ts"

const subject = Subject.make({
  agent: support,
  scenarios: {
    default: {
      input: Prompt.make("Where is my order 7?"),
      model: [ScriptedModel.call("find_order", { order: 7 }), ScriptedModel.text("Thank you for your question.")]
    }
  }
})

/** Runs the agent with faults. The observation has all that it did. */
const observe = (...faults: ReadonlyArray<FaultPlan.Injection>) =>
  Effect.runPromise(Simulation.run(subject, subject.scenarios["default"]!, { plan: FaultPlan.make(faults) }))

/** The result of the call, as the model reads it. */
const resultOf = ({ requests }: Simulation.Observation) => JSON.stringify(requests.at(-1)?.prompt.content.at(-1))

test("finds an order", async () => {
  const run = await observe()
  assert.deepEqual(run.exit, Exit.succeed("Thank you for your question."))
  assert.match(resultOf(run), /Order 7 is on its way/)
  assert.equal(run.executions.length, 1)
})

test("finds the order although the service does not answer once", async () => {
  const run = await observe(FaultPlan.onTool("find_order", { type: "timeout" }))
  assert.deepEqual(run.exit, Exit.succeed("Thank you for your question."))
  assert.match(resultOf(run), /Order 7 is on its way/)
  assert.equal(run.executions.length, 2)
})

test("continues although the service is down", async () => {
  const down = FaultPlan.onTool("find_order", { type: "failure", error: { _tag: "OrdersDown" } }, { times: 3 })
  const run = await observe(down)
  assert.deepEqual(run.exit, Exit.succeed("Thank you for your question."))
  // After three attempts the model reads a code. Details of the failure stay with you.
  assert.match(resultOf(run), /execution_error/)
  assert.equal(run.executions.length, 3)
})

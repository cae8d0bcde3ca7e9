/** Runs the agent once under each fault of the reference suite, and prints the events with their times. */
import { NodeRuntime } from "@effect/platform-node"
import { FaultPlan, Simulation, Timeline } from "@recourse/testing"
import { Console, Effect } from "effect"
import { subject } from "./subject.ts"

const faults = [
  FaultPlan.onTool("crm_lookup", { type: "timeout" }),
  FaultPlan.onTool("send_email", { type: "network_error_after_commit" }),
  FaultPlan.onTool("fetch_page", { type: "prompt_injection" })
]

NodeRuntime.runMain(
  Effect.forEach(faults, (fault) =>
    Effect.gen(function*() {
      const plan = FaultPlan.make([fault])
      const observed = yield* Simulation.run(subject, subject.scenarios["default"]!, { plan })
      yield* Console.log([
        FaultPlan.print(plan),
        Timeline.render(observed),
        `e-mails asked for: ${observed.sideEffects.length}, sent: ${
          observed.sideEffects.filter(({ duplicate }) => !duplicate).length
        }`,
        ""
      ].join("\n"))
    }), { discard: true })
)

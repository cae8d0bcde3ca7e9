/** The laws of recovery hold for the main job too, whatever goes wrong with its model and its tool. */
import { it } from "@effect/vitest"
import { Laws, ScriptedModel, Subject } from "@recourse/testing"
import { keyCounter, question } from "../src/keyCounter.ts"

const wrong = "{name: world, age: 30, active: true}"
const right = "{\"name\": \"world\", \"age\": 30, \"active\": true}"

/** The model writes JSON that is none; the fixer hands it back; the model corrects it. */
const model: ScriptedModel.Behaviour = (request, index) => {
  const first = request.prompt.content[0]
  const isFixer = first?.role === "system" && first.content.startsWith("A tool call failed")
  return isFixer
    ? ScriptedModel.call("escalate", { reason: `Quote the keys: ${right}`, severity: "low" })
    : ScriptedModel.steps([
      ScriptedModel.call("calculateNumberOfKeys", { json: wrong }),
      ScriptedModel.call("calculateNumberOfKeys", { json: right }),
      ScriptedModel.text("3")
    ])(request, index)
}

Laws.test(
  { it },
  Subject.make({
    agent: keyCounter,
    scenarios: { default: { input: question, model } }
  }),
  { runs: Number(process.env["RECOURSE_PLANS"] ?? 25), seed: Number(process.env["RECOURSE_SEED"] ?? 1) }
)

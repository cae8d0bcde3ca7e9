import { it } from "@effect/vitest"
import { Laws } from "@recourse/testing"
import { subject } from "../src/subject.ts"

Laws.test({ it }, subject, {
  runs: Number(process.env["RECOURSE_PLANS"] ?? 25),
  seed: Number(process.env["RECOURSE_SEED"] ?? 1)
})

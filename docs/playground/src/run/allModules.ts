/** The modules that edited programs can import, whole. */
import * as core from "@recourse/core"
import * as jsonRepair from "@recourse/json-repair"
import * as testing from "@recourse/testing"
import * as effect from "effect"
import * as ai from "effect/ai"
import type { Modules } from "./modules.ts"

export const allModules: Modules = {
  effect,
  "effect/ai": ai,
  "@recourse/core": core,
  "@recourse/json-repair": jsonRepair,
  "@recourse/testing": testing
}

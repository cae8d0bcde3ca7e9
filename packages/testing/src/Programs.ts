/**
 * Random programs with agents: tools that call tools, recoveries of any operators, agents in agents, conversations of
 * several runs, pauses, interruption at any operation, stores and listeners that fail. Laws are checked on every one of
 * them.
 *
 * It checks the library, not a program of yours: for that there is `Laws`.
 */
export {
  checkCompositions,
  CompositionBroken,
  type CompositionOptions,
  type CompositionReport
} from "./internal/compositions/checkCompositions.ts"
export { Composition, printComposition } from "./internal/compositions/composition.ts"
export { type CompositionLaw, compositionLaws, type CompositionRule } from "./internal/compositions/compositionLaws.ts"
export type { Emitted, Execution, ObservedComposition } from "./internal/compositions/observeComposition.ts"
export { check, type Options, ProgramBroken, type Report, tryProgram } from "./internal/programs/check.ts"
export { type Law, type ProgramLaw, programLaws as laws, type Trial, type Violation } from "./internal/programs/laws.ts"
export type { Observed, Part, Waited } from "./internal/programs/observed.ts"
export { print, Program } from "./internal/programs/program.ts"
export type { ObserveOptions } from "./internal/programs/programRun.ts"
export { checkReplays, ReplayBroken, tryReplay } from "./internal/programs/replays.ts"
export { observe } from "./internal/programs/run.ts"
export type { Entry } from "./internal/programs/surroundings.ts"
export type { CompensatedEffect, SideEffect } from "./internal/programs/world.ts"

/**
 * World model, instead of counting calls: entities, operations on them, and invariants, checked over users' actions in
 * several runs, conversations and processes.
 */
export { check, type Options, type Report, WorldBroken } from "./internal/world/check.ts"
export { Command } from "./internal/world/commands.ts"
export {
  type AnswerOf,
  CurrentWorld,
  type InputOf,
  type Instance,
  make,
  type Operation,
  type Operations,
  type SideEffect,
  type World
} from "./internal/world/model.ts"
export type { Program, Provided } from "./internal/world/program.ts"

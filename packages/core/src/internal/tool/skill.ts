/** Skills: named groups of instructions and tools. A run uses one of them. */
import type * as Types from "effect/Types"
import { ConfigurationError } from "../../ConfigurationError.ts"
import { checkName } from "../foundation/options/checkName.ts"
import { anArray, aString, checkOptions } from "../foundation/options/optionCheck.ts"
import type * as Tool from "./tool.ts"

/** Its name may be in the options: a skill is made again of a skill. */
const kinds = { name: aString, description: aString, instructions: aString, tools: anArray }

/**
 * A named group of instructions and tools.
 *
 * @category models
 * @since 0.2.0
 */
export interface Skill<out Name extends string, out Tools extends ReadonlyArray<Tool.Any>> {
  readonly name: Name
  readonly description: string
  readonly instructions: string | undefined
  readonly tools: Tools
}

/**
 * Any skill.
 *
 * @category models
 * @since 0.2.0
 */
export interface Any extends Skill<string, ReadonlyArray<Tool.Any>> {}

/**
 * Makes a skill. The choice is made by `description`; a chosen skill adds its `instructions` to the agent's.
 *
 * **Example** (A skill without tools)
 *
 * ```ts
 * import { Skill } from "@recourse/core"
 *
 * Skill.make("poetry", { description: "Writes poems", instructions: "Answer in verse." }).name // => "poetry"
 * ```
 *
 * @category constructors
 * @since 0.2.0
 */
export const make = <const Name extends string, const Tools extends Tool.List = readonly []>(
  name: Name,
  options: {
    readonly description: string
    readonly instructions?: string | undefined
    readonly tools?: Tools | undefined
  }
): Skill<Name, Types.NoInfer<Tools>> => {
  checkName("Skill.make", "skill", "poetry", name)
  checkOptions(`Skill "${name}"`, options, { kinds, otherNames: {} })
  if (name === "") throw new ConfigurationError({ subject: "Skill", problem: "a skill needs a name" })
  return {
    name,
    description: options.description,
    instructions: options.instructions,
    tools: options.tools ?? ([] as ReadonlyArray<Tool.Any> as Tools)
  }
}

/** The options of `Agent.make` for the run-time check. */
import {
  aFunction,
  anObject,
  aNumber,
  anything,
  aString,
  checkOptions,
  either,
  type Kind,
  oneOf
} from "../foundation/options/optionCheck.ts"
import { otherAgentNames } from "../foundation/options/foreignOptionNames.ts"
import { kindOf } from "../foundation/options/valueKind.ts"
import { checkName } from "../foundation/options/checkName.ts"
import { PolicyTypeId } from "../recovery/policy.ts"
import { aSchema } from "../tool/from/schemaKind.ts"
import { isTool } from "../tool/tool.ts"
import { anAgent } from "./agent.ts"
import type { OptionName } from "./options.ts"

const aboutItem = (item: unknown, index: number): string =>
  anAgent.is(item)
    ? `holds an agent at index ${index}. Make a tool of it: agent.pipe(Agent.asTool("ask_it", { description }))`
    : `holds ${kindOf(item)} at index ${index} that is no tool. Make it with Tool.make`

export const someTools: Kind = {
  is: (value) => Array.isArray(value) && value.every(isTool),
  called: "a list of tools",
  about: (value) => {
    if (Array.isArray(value)) {
      const index = value.findIndex((item) => !isTool(item))
      return aboutItem(value[index], index)
    }
    return isTool(value)
      ? "is a single tool and has to be a list: tools: [tool]"
      : anObject.is(value)
      ? "is an object and has to be a list: tools: [first, second]. The name of a tool is the first argument of Tool.make"
      : undefined
  }
}

const aPolicyForAll: Kind = {
  is: (value) => {
    if (!anObject.is(value)) return false
    const { onError, ...others } = value as { readonly onError?: unknown }
    return Object.keys(others).length === 0 &&
      (onError === undefined || (typeof onError === "function" && PolicyTypeId in onError))
  },
  called: "{ onError: Recovery.standard }",
  about: (value) => {
    if (!anObject.is(value)) return undefined
    const other = Object.keys(value as object).find((name) => name !== "onError")
    return other === undefined
      ? "has an onError that is no policy. Use Recovery.standard, another preset, or Recovery.policy({ ... })"
      : `has "${other}". It has onError only`
  }
}

const someSkills: Kind = {
  is: (value) => Array.isArray(value) && value.every((skill) => anObject.is(skill) && Array.isArray(skill.tools)),
  called: "a list of skills. Make each with Skill.make"
}

const somePolicies: Kind = {
  is: (value) => Array.isArray(value) && value.every((policy) => anObject.is(policy) && aFunction.is(policy.decide)),
  called: "a list of policies. Make each with Policy.make"
}

const aConcurrency: Kind = {
  is: (value) => typeof value === "number" && (value === Infinity || Number.isInteger(value)) && value > 0,
  called: "a number that is 1 or more"
}

const compactOptions = { kinds: { maxTokens: aNumber, by: aFunction }, otherNames: {} }

const kinds: Readonly<Record<OptionName, Kind>> = {
  instructions: either(aString, aFunction),
  input: aSchema,
  prompt: aFunction,
  output: aSchema,
  tools: someTools,
  skills: someSkills,
  skill: either(aString, aFunction),
  onToolError: anObject,
  defaults: aPolicyForAll,
  guardInput: aFunction,
  guardOutput: aFunction,
  onModelError: aFunction,
  budget: anObject,
  policies: somePolicies,
  onTainted: either(oneOf("approve", "deny"), anObject),
  approval: anObject,
  onBudgetExceeded: aFunction,
  concurrency: either(aConcurrency, oneOf("unbounded")),
  repeatedFailures: aNumber,
  repeatedCalls: aNumber,
  maxTools: aNumber,
  resultLimit: aNumber,
  prepareTurn: aFunction,
  compact: anObject,
  compensation: anything
}

/** Throws `ConfigurationError` for options that the compiler refuses. */
export const checkAgentOptions = (name: unknown, options: unknown): void => {
  checkName("Agent.make", "agent", "assistant", name)
  const subject = `Agent "${name}"`
  checkOptions(subject, options, { kinds, otherNames: otherAgentNames })
  const { compact } = options as { readonly compact?: unknown }
  if (compact !== undefined) checkOptions(subject, { by: null, ...compact as object }, compactOptions, "compact.")
}

/** Own tools: policies and the rule for tainted runs name tools that the agent has. */
import { ConfigurationError } from "../../ConfigurationError.ts"
import type * as Policy from "../../Policy.ts"
import type { OnTainted } from "../../Quarantine.ts"

/** A policy about a missing tool would have no effect. */
export const ownToolsOnly = (
  agent: string,
  { onTainted, policies }: {
    readonly policies?: ReadonlyArray<Policy.Any> | undefined
    readonly onTainted?: OnTainted | undefined
  },
  names: ReadonlyArray<string>
): void => {
  const refuse = (option: string, named: string) => {
    throw new ConfigurationError({
      subject: `Agent "${agent}"`,
      problem:
        `${option} names "${named}", which is none of its tools; give a tool that only tools call by itself, and not by its name`
    })
  }
  for (const policy of policies ?? []) {
    const unknown = policy.tools.find((tool) => !names.includes(tool))
    if (unknown !== undefined) refuse(`policy "${policy.name}"`, unknown)
  }
  for (const allowed of typeof onTainted === "object" ? onTainted.allow : []) {
    if (typeof allowed === "string" && !names.includes(allowed)) refuse("onTainted.allow", allowed)
  }
}

/** The options of served tools for the run-time check. */
import * as Check from "@recourse/core/OptionCheck"
import { isTool } from "@recourse/core/Tool"

const aTool: Check.Kind = { is: isTool, called: "tools, each made by Tool.make or Agent.asTool" }

/** Throws `ConfigurationError` for options of served tools that the compiler refuses. */
export const checkServed = (options: { readonly tools?: unknown } | undefined): void => {
  Check.checkArgument("Mcp.layerServer", "its options", options, Check.anObject)
  Check.checkArgument("Mcp.layerServer", "tools", options?.tools, Check.listOf(aTool))
}

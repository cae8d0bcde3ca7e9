/** `Approval.terminal`: asks the person at the terminal about a call that waits. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as PlatformError from "effect/PlatformError"
import * as Schema from "effect/Schema"
import * as Terminal from "effect/Terminal"
import { approve, type DecidedBy, type Decision, edit, reject } from "../approval/decision.ts"
import type { PendingCall } from "../approval/snapshot.ts"
import { breakText, harmless } from "./layout.ts"

const Arguments = Schema.fromJsonString(Schema.Record(Schema.String, Schema.Json))
const readArguments = Schema.decodeUnknownOption(Arguments)

const question = ({ arguments: args, code, fixedBy, reasons, tool }: PendingCall, columns: number): string => {
  const parts = [
    ...(code === "approval_expired" ? ["The approval came too late."] : []),
    `May ${tool} be called with these arguments?`,
    ...(fixedBy === undefined ? [] : [`They are not the model's, but of ${fixedBy}.`]),
    ...reasons.map((reason) => `Why you are asked: ${reason}`),
    ...Object.entries(args).map(([name, value]) => `${name}: ${JSON.stringify(value)}`)
  ]
  return parts.map((part) => breakText(harmless(part), columns, columns - 2).join("\n  ")).join("\n  ")
}

/** Gives the error of a closed terminal a message: effect's own has none. */
const explained = <E extends Error>(error: E, tool: string): E =>
  error.message === ""
    ? Object.defineProperty(error, "message", {
      value: `The terminal was closed before a person decided about the call of "${
        harmless(tool)
      }". The call was not made.`
    })
    : error

/**
 * Asks about a call at the terminal: yes, no with a reason for the model, or with other arguments. For
 * `Approval.interactive`. All of the arguments are shown; control characters are escaped. Ctrl-C and Ctrl-D end the run
 * with `QuitError`. `Terminal` is a service of the platform: `NodeServices.layer` and `NodeTerminal.layer` have it.
 *
 * `by` says who decided, for the audit.
 *
 * **Example** (An agent that asks the person who started it)
 *
 * ```ts
 * import { Agent, Approval } from "@recourse/core"
 *
 * const clerk = Agent.make("clerk", {}).pipe(Approval.interactive(Approval.terminal({ by: "Ada" })))
 * // Effect.provide(clerk.run("Refund order 7"), NodeServices.layer)
 * ```
 *
 * @category combinators
 * @since 0.2.0
 */
export const terminal = (
  options?: DecidedBy
): (call: PendingCall) => Effect.Effect<
  Decision,
  Terminal.QuitError | PlatformError.PlatformError,
  Terminal.Terminal
> =>
  Effect.fnUntraced(function*(call) {
    const { columns, display, readLine: read } = yield* Terminal.Terminal
    const readLine = Effect.mapError(read, (error) => explained(error, call.tool))
    yield* display(`\n${question(call, Math.max(yield* columns, 20))}\n`)
    const prompt = (text: string) => Effect.andThen(display(text), Effect.map(readLine, (line) => line.trim()))
    while (true) {
      const answer = (yield* prompt("[y]es, [n]o, [e]dit? ")).toLowerCase()
      if (answer === "y" || answer === "yes") return approve(call, options)
      if (answer === "n" || answer === "no") {
        const reason = yield* prompt("Why not? The model reads:  ")
        return reject(call, reason === "" ? "A person refused it." : reason, options)
      }
      if (answer !== "e" && answer !== "edit") continue
      const edited = readArguments(
        yield* prompt(`The arguments as one line of JSON, such as ${harmless(JSON.stringify(call.arguments))}\n`)
      )
      if (Option.isSome(edited)) return edit(call, edited.value, options)
      yield* display("That is not a JSON object.\n")
    }
  })

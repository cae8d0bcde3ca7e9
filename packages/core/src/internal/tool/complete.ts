/** Checks the result of a call, behind all recovery. */
import * as Effect from "effect/Effect"
import { pipeArguments } from "effect/Pipeable"
import { InvalidResult, NotApproved } from "../../ToolError.ts"
import { type Call, ToolCall } from "../call/call.ts"
import { settle } from "../call/oncePerKey.ts"
import { errorFields, toolName } from "../call/record.ts"
import { provide } from "../foundation/provideService.ts"
import { after } from "../foundation/sequence.ts"
import { resultEncoder } from "./resultJson.ts"
import { type Any, type Check, type Checked, TypeId } from "./tool.ts"

const Proto = {
  [TypeId]: TypeId,
  pipe() {
    return pipeArguments(this, arguments)
  }
}

/** @internal Checks what calls answer against the tool's `success` schema, and writes it as JSON. */
export const resultCheck = ({ name, success }: Pick<Any, "name" | "success">): Check => {
  const encode = resultEncoder(success)
  return ({ record }, value) =>
    Effect.mapBothEager(encode(value), {
      onFailure: (issues) => new InvalidResult({ ...errorFields(record), tool: name, issues }),
      onSuccess: (encoded) => ({ value, encoded })
    })
}

/** @internal A tool with its recovery, and what stands behind that. */
export interface Completable {
  readonly tool: Pick<Any, "info">
  /** A call with all its recovery. */
  readonly recovered: Any["recovered"]
  readonly check: Check
}

/** @internal Runs a call, recovered, and checks what it answers: behind all recovery, so it causes no further attempt. */
export const runAndCheck = (
  { check, recovered, tool }: Completable,
  call: Call
): ReturnType<Check> => {
  call.record.tool = tool.info
  return provide(
    Effect.flatMap(after(recovered, () => settle(call)), (value) => check(call, value)),
    ToolCall,
    call
  )
}

/** By hand, a call that may not run is a failure, whatever recovery made of it: there is no run that could wait. */
const byHand = ({ id, record }: Call, call: Effect.Effect<Checked<unknown>, unknown, unknown>) =>
  Effect.flatMap(Effect.exit(call), (exit): Effect.Effect<Checked<unknown>, unknown> =>
    record.stop === undefined
      ? exit
      : Effect.fail(new NotApproved({ tool: toolName(record), callId: id })))

export const fromRecovered = (self: Omit<Any, "call" | "pipe" | typeof TypeId>): Any => {
  const { recovered } = self
  const completable = { tool: self, recovered, check: resultCheck(self) }
  return Object.assign(Object.create(Proto), self, {
    call: Effect.flatMap(
      ToolCall,
      (call) => Effect.map(byHand(call, runAndCheck(completable, call)), (result) => result.value)
    )
  })
}

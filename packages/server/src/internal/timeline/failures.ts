/** Failures of a run, each with its texts for the model, the user and the operator. */
import { callKey } from "./spanTree.ts"
import type { Event, Failure } from "./types.ts"

type Open = { -readonly [K in keyof Failure]: Failure[K] }

/** The model's text of a failure, with its instruction. */
const modelText = (result: unknown): string | undefined => {
  if (typeof result !== "object" || result === null) return typeof result === "string" ? result : undefined
  const own = (field: string): unknown =>
    Object.hasOwn(result, field) ? result[field as keyof typeof result] : undefined
  const texts = [own("message_for_model"), own("instruction")].filter((text) => typeof text === "string")
  return texts.length > 0 ? texts.join("\n") : JSON.stringify(result)
}

/** The failures of a run. */
export class Failures {
  readonly list: Array<Open> = []
  /** The failed attempt of a call that came last. */
  private readonly lastOf = new Map<string, Open>()
  private lastOfModel: Open | undefined
  /** Number of the event with which a model was called last. */
  private lastTurn = 0

  /** The failed call that ended the run: no model has been called since. */
  private causeOf({ code }: Extract<Event, { readonly _tag: "RunFinished" }>): Open | undefined {
    const last = this.list.at(-1)
    return last !== undefined && last.number > this.lastTurn && !last.isRecovered && last.code === code
      ? last
      : undefined
  }

  receive(event: Event, number: number, spanId: string | undefined): void {
    const base = {
      number,
      at: event.at,
      spanId,
      code: undefined,
      model: undefined,
      user: undefined,
      endedRun: false
    }
    switch (event._tag) {
      case "ToolAttemptFailed": {
        const { error, operatorMessage: operator, reason, tool } = event
        const failure: Open = {
          ...base,
          subject: tool,
          error: reason ?? error,
          operator,
          // Until the call's result says otherwise.
          isRecovered: true
        }
        this.list.push(failure)
        this.lastOf.set(callKey(event), failure)
        return
      }
      case "ToolResult": {
        const attempt = this.lastOf.get(callKey(event))
        this.lastOf.delete(callKey(event))
        if (!event.isFailure) return
        const texts = { code: event.code, model: modelText(event.result), user: event.userMessage }
        // The result belongs to the last attempt: one failure, and not two.
        if (attempt !== undefined) Object.assign(attempt, texts, { isRecovered: false })
        else {
          const error = event.deniedBy === undefined ? undefined : `denied by a ${event.deniedBy}`
          this.list.push({ ...base, ...texts, subject: event.tool, error, operator: undefined, isRecovered: false })
        }
        return
      }
      case "ModelTurnFailed": {
        const { error, operatorMessage: operator } = event
        const failure: Open = { ...base, subject: "model", error, operator, isRecovered: true }
        this.list.push(failure)
        this.lastOfModel = failure
        return
      }
      case "ModelTurnStarted":
        this.lastTurn = number
        return
      case "ModelTurnFinished":
        this.lastOfModel = undefined
        return
      case "RunFinished": {
        if (event.outcome !== "failure") return
        const { code, error, operatorMessage: operator, userMessage: user } = event
        const cause = this.lastOfModel ?? this.causeOf(event)
        // The failure that ended the run is counted once.
        if (cause !== undefined) {
          const { operator: known = operator } = cause
          Object.assign(cause, { code, user, operator: known, model: undefined, isRecovered: false, endedRun: true })
        } else {this.list.push({
            ...base,
            subject: "run",
            code,
            error,
            user,
            operator,
            isRecovered: false,
            endedRun: true
          })}
        return
      }
      default:
        return
    }
  }
}

/** Real effects of tools in a program, however they are reported. */
import { Context } from "effect"

/**
 * An execution of a tool.
 *
 * @category models
 * @since 0.2.0
 */
export interface SideEffect {
  readonly seq: number
  readonly tool: string
  /** The agent whose tool it is. */
  readonly agent: string
  /** Number of earlier runs of agents. */
  readonly instance: number
  /** The side effect of the tool within whose executor it is. */
  readonly within: number | undefined
  /** Number of earlier events. */
  readonly after: number
  /** Number of earlier model requests. */
  readonly requests: number
  readonly order: string
  /** The call, and the key that the service is given: not known if it was interrupted at once. */
  callId: string | undefined
  key: string | undefined
  /** True if the service did it, or had done it under the same key. */
  done: boolean
  receipt: string | undefined
  state: "running" | "ok" | "declined" | "failed" | "interrupted" | "died"
  endedAfter: number | undefined
}

/**
 * A compensated effect.
 *
 * @category models
 * @since 0.2.0
 */
export interface CompensatedEffect {
  readonly tool: string
  readonly receipt: string
  readonly key: string | undefined
  /** Number of earlier events. */
  readonly after: number
}

/** The execution that a call is made from. */
export const Within: Context.Reference<number | undefined> = Context.Reference<number | undefined>(
  "@recourse/testing/programs/Within",
  { defaultValue: () => undefined }
)

/** Effects, and the service that executes tools' requests, once for each key. */
export class World {
  /** A secret that tools answer, and that the model says at the end. */
  readonly secret: string | undefined
  readonly sideEffects: Array<SideEffect> = []
  /** Compensated effects, in order. */
  readonly compensated: Array<CompensatedEffect> = []
  private readonly receipts = new Map<string, string>()
  private given = 0
  private readonly executions = new Map<string, number>()

  constructor(secret?: string) {
    this.secret = secret
  }

  /** Begins an execution; answers which of the tool's it is, from 0. */
  begin(effect: Pick<SideEffect, "tool" | "agent" | "instance" | "after" | "order" | "requests">): {
    readonly effect: SideEffect
    readonly nth: number
  } {
    const nth = this.executions.get(effect.tool) ?? 0
    this.executions.set(effect.tool, nth + 1)
    const started: SideEffect = {
      ...effect,
      seq: this.sideEffects.length,
      within: undefined,
      callId: undefined,
      key: undefined,
      done: false,
      receipt: undefined,
      state: "running",
      endedAfter: undefined
    }
    this.sideEffects.push(started)
    return { effect: started, nth }
  }

  /** An execution ends. */
  end(effect: SideEffect, state: SideEffect["state"], after: number): void {
    effect.state = state
    effect.endedAfter = after
  }

  /** The service does it. */
  perform(effect: SideEffect): string {
    const id = effect.key === undefined ? `#${effect.seq}` : `${effect.tool} ${effect.key}`
    const receipt = this.receipts.get(id) ?? `receipt-${++this.given}`
    this.receipts.set(id, receipt)
    effect.done = true
    effect.receipt = receipt
    return receipt
  }

  /** The service compensates an effect by its receipt: its key is free again. */
  compensate(receipt: string): void {
    for (const [id, given] of this.receipts) if (given === receipt) this.receipts.delete(id)
  }
}

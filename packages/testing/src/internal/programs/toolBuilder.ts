/** Tools of a program: their executors, whose effects happen in its world, and their recovery. */
import { Context, Duration, Effect, type Exit, type Schema, Stream } from "effect"
import { Prompt } from "effect/ai"
import { Tool, ToolCall, ToolError } from "@recourse/core"
import type { Asked } from "./asked.ts"
import { type Call, ConnectionReset, Declined, operators, Parameters, results } from "./operators.ts"
import { outside, soFar } from "./planted.ts"
import { behind, calledBy, type Program, toolName, type ToolSpec } from "./program.ts"
import { type SideEffect, Within, type World } from "./world.ts"

/** A run's knowledge of the time of an event. */
export interface Progress {
  readonly events: () => number
  readonly agents: () => number
  readonly requests: () => number
  /** Receives a person's questions while a run runs. */
  readonly onAsked?: ((asked: Asked) => void) | undefined
}

/** The effect of one execution of a tool, by its `nth` outcome. */
const outcome = (
  spec: ToolSpec,
  world: World,
  effect: SideEffect,
  nth: number,
  within: string
): Effect.Effect<unknown, unknown> => {
  const perform = Effect.sync(() => world.perform(effect))
  const answer = Effect.map(
    perform,
    (receipt) =>
      results[spec.result].of(
        [receipt, ...(spec.untrusted ? [outside] : []), ...(world.secret === undefined ? [] : [world.secret]), within]
          .join(" ").trimEnd()
      )
  )
  switch (spec.outcomes[nth] ?? "ok") {
    case "ok":
      return answer
    case "slow":
      return Effect.delay(answer, "2 seconds")
    case "declined":
      return Effect.fail(new Declined())
    case "failure":
      return Effect.fail(new ConnectionReset())
    case "lost":
      return Effect.andThen(perform, Effect.fail(new ConnectionReset()))
    case "hang":
      return Effect.andThen(perform, Effect.never)
    case "defect":
      return Effect.andThen(perform, Effect.die(new Error("injected")))
    case "unsure":
      return Effect.andThen(
        perform,
        Effect.fail(
          new ToolError.OutcomeUnknown({
            tool: effect.tool,
            callId: effect.callId ?? "",
            attempt: 1,
            causes: [],
            after: Duration.zero
          })
        )
      )
  }
}

const stateOf = (exit: Effect.Effect<unknown, unknown> & { readonly _tag: string }): SideEffect["state"] => {
  if (exit._tag === "Success") return "ok"
  const { reasons } = (exit as unknown as {
    readonly cause: { readonly reasons: ReadonlyArray<{ readonly _tag: string; readonly error?: unknown }> }
  }).cause
  return reasons.some(({ error }) => error instanceof Declined)
    ? "declined"
    : reasons.some(({ _tag }) => _tag === "Interrupt")
    ? "interrupted"
    : reasons.some(({ _tag }) => _tag === "Die")
    ? "died"
    : "failed"
}

/** Preliminary result of a tool that returns a Stream. */
const before = ({ result, untrusted }: ToolSpec): Effect.Effect<unknown, never, ToolCall.ToolCall> => {
  const message = untrusted ? `${soFar} ${outside}` : soFar
  return Effect.as(ToolCall.progress({ progress: 1, total: 2, message }), results[result].of(message))
}

const partsOf = (result: unknown): ReadonlyArray<Prompt.ToolModelOutputPart> => [
  Prompt.textPart({ text: (result as { readonly receipt: string }).receipt }),
  Prompt.filePart({ mediaType: "image/png", data: new Uint8Array([137, 80, 78, 71]) })
]

/** An agent of a program, and the world in which its tools have effects. */
interface Owner {
  readonly program: Program
  readonly agent: string
  readonly world: World
  readonly progress: Progress
}

/** Builds the tools of one agent. */
export class ToolBuilder {
  private readonly owner: Owner

  constructor(owner: Owner) {
    this.owner = owner
  }

  /** Builds all tools, the last one first: a tool calls and falls back to those behind it. */
  build(): ReadonlyArray<Tool.Any> {
    const tools: Array<Tool.Any> = []
    for (let index = this.owner.program.tools.length - 1; index >= 0; index--) {
      tools.unshift(this.recovering(index, tools))
    }
    return tools
  }

  /** A tool with its recovery. */
  private recovering(index: number, others: ReadonlyArray<Tool.Any>): Tool.Any {
    const { program } = this.owner
    const spec = program.tools[index]!
    const named = (at: number | undefined): Tool.Any | undefined =>
      at === undefined ? undefined : others.find(({ name }) => name === toolName(program, at))
    const tool = this.bare(index, calledBy(program, index).flatMap((at) => named(at) ?? []))
    return spec.recovery.length === 0 ? tool : Tool.onError(
      tool as never,
      ((call: Call) =>
        spec.recovery.reduce(
          (recovered, { op, times }) =>
            operators[op](recovered, { times, spec, next: named(behind(program, index, times)) }),
          call
        )) as never
    ) as unknown as Tool.Any
  }

  /** A tool whose executor calls the `inner` ones. */
  private bare(index: number, inner: ReadonlyArray<Tool.Any>): Tool.Any {
    const { program } = this.owner
    const spec = program.tools[index]!
    const name = toolName(program, index)
    return Tool.make(name, {
      parameters: Parameters,
      success: results[spec.result].schema as Schema.Top,
      effects: spec.effects,
      ...(spec.timeout ? { timeout: "3 seconds" as const } : undefined),
      ...(spec.approval ? { needsApproval: true as const } : undefined),
      ...(spec.untrusted ? { trust: "untrusted" as const } : undefined),
      ...(spec.parts ? { toModelOutput: partsOf } : undefined),
      ...(spec.undo === "no" || spec.effects === "read" ? undefined : {
        compensate: (_: unknown, result: { readonly receipt: string }) => this.compensate(name, spec, result)
      }),
      ...(spec.keyed === "no" ? undefined : {
        idempotency: {
          rejected: ["Declined"],
          ...(spec.keyed === "order"
            ? { key: ({ order }: typeof Parameters.Type) => `order ${order}` }
            : undefined)
        }
      }),
      execute: ({ order }: typeof Parameters.Type) => this.execute(index, inner, order)
    } as never) as unknown as Tool.Any
  }

  /** Starts with the executor: in the call of the function, before the effect's first step. */
  private execute(index: number, inner: ReadonlyArray<Tool.Any>, order: string) {
    const { agent, program, progress, world } = this.owner
    const spec = program.tools[index]!
    const { effect, nth } = world.begin({
      tool: toolName(program, index),
      agent,
      instance: progress.agents(),
      after: progress.events(),
      requests: progress.requests(),
      order
    })
    const executed = Effect.contextWith((context: Context.Context<ToolCall.ToolCall>) => {
      const { id, idempotencyKey } = Context.get(context, ToolCall.ToolCall)
      Object.assign(effect, { callId: id, key: idempotencyKey, within: Context.get(context, Within) })
      const within: Effect.Effect<ReadonlyArray<string>, unknown, unknown> = Effect.forEach(
        inner,
        ({ call }) =>
          Effect.map(Effect.provideService(call as Call, Within, effect.seq), ({ receipt }) => `(${receipt})`)
      )
      return Effect.flatMap(within, (texts) => outcome(spec, world, effect, nth, texts.join(" ")))
    })
    const ended = (exit: Exit.Exit<unknown, unknown>) =>
      Effect.sync(() => {
        world.end(effect, stateOf(exit as never), progress.events())
      })
    return spec.streams
      ? Stream.onExit(Stream.concat(Stream.fromEffect(before(spec)), Stream.fromEffect(executed)), ended)
      : Effect.onExit(executed, ended)
  }

  private compensate(
    tool: string,
    { undo }: ToolSpec,
    result: { readonly receipt: string }
  ): Effect.Effect<void, ConnectionReset, ToolCall.ToolCall> {
    const { progress, world } = this.owner
    return Effect.flatMap(ToolCall.ToolCall, ({ idempotencyKey: key }) => {
      const receipt = /receipt-\d+/.exec(result.receipt)?.[0] ?? "nothing"
      world.compensated.push({ tool, receipt, key, after: progress.events() })
      if (undo === "fails") return Effect.fail(new ConnectionReset())
      if (undo === "hangs") return Effect.never
      world.compensate(receipt)
      return Effect.yieldNow
    })
  }
}

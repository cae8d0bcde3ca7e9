/** Builds a program with agents from its value. */
/* oxlint-disable max-lines -- one program is built of its random parts, one by one */
import { Context, Duration, Effect, type Exit, Schedule, Schema, Stream } from "effect"
import { AiError, Prompt } from "effect/ai"
import { Agent, Guardrail, History, ModelError, Policy, Recovery, Tool, ToolCall, ToolError } from "@recourse/core"
import * as ScriptedModel from "../../ScriptedModel.ts"
import { type Call, ConnectionReset, Declined, operators, Parameters, results } from "./operators.ts"
import { textOf } from "../text/text.ts"
import type { Asked } from "./asked.ts"
import { budget, clerk, compensation, type Composed, composed, desk, partner } from "./forms.ts"
import { behind, calledBy, type Program, toolName, type ToolSpec } from "./program.ts"
import { type Deed, Within, type World } from "./world.ts"

/** Text of an outsider. */
export const outside = "planted-by-an-outsider"

/** Preliminary result of a tool. */
export const soFar = "said-before-the-result"

/** A run's knowledge of the time of an event. */
export interface Progress {
  readonly events: () => number
  readonly agents: () => number
  readonly requests: () => number
  /** Receives a person's questions while a run runs. */
  readonly onAsked?: ((asked: Asked) => void) | undefined
}

const outcome = (
  spec: ToolSpec,
  world: World,
  deed: Deed,
  nth: number,
  within: string
): Effect.Effect<unknown, unknown> => {
  const perform = Effect.sync(() => world.perform(deed))
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
            tool: deed.tool,
            callId: deed.callId ?? "",
            attempt: 1,
            causes: [],
            after: Duration.zero
          })
        )
      )
  }
}

const stateOf = (exit: Effect.Effect<unknown, unknown> & { readonly _tag: string }): Deed["state"] => {
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

/** Compensates an effect. */
const undo = (
  tool: string,
  { undo }: ToolSpec,
  result: { readonly receipt: string },
  world: World,
  progress: Progress
): Effect.Effect<void, ConnectionReset, ToolCall.ToolCall> =>
  Effect.flatMap(ToolCall.ToolCall, ({ idempotencyKey: key }) => {
    const receipt = /receipt-\d+/.exec(result.receipt)?.[0] ?? "nothing"
    world.undone.push({ tool, receipt, key, after: progress.events() })
    if (undo === "fails") return Effect.fail(new ConnectionReset())
    if (undo === "hangs") return Effect.never
    world.undo(receipt)
    return Effect.yieldNow
  })

const makeTool = (
  program: Program,
  agent: string,
  index: number,
  others: ReadonlyArray<Tool.Any>,
  world: World,
  progress: Progress
): Tool.Any => {
  const spec = program.tools[index]!
  const toolBehind = (steps: number): Tool.Any | undefined => {
    const at = behind(program, index, steps)
    return at === undefined ? undefined : others.find(({ name }) => name === toolName(program, at))
  }
  const inner = calledBy(program, index).flatMap((at) =>
    others.find(({ name }) => name === toolName(program, at)) ?? []
  )
  // Starts with the executor: in the call of the function, before the effect's first step.
  const execute = ({ order }: typeof Parameters.Type) => {
    const { deed, nth } = world.begin({
      tool: toolName(program, index),
      agent,
      instance: progress.agents(),
      after: progress.events(),
      requests: progress.requests(),
      order
    })
    const executed = Effect.contextWith((context: Context.Context<ToolCall.ToolCall>) => {
      const { id, idempotencyKey } = Context.get(context, ToolCall.ToolCall)
      Object.assign(deed, { callId: id, key: idempotencyKey, within: Context.get(context, Within) })
      const within: Effect.Effect<ReadonlyArray<string>, unknown, unknown> = Effect.forEach(
        inner,
        ({ call }) => Effect.map(Effect.provideService(call as Call, Within, deed.seq), ({ receipt }) => `(${receipt})`)
      )
      return Effect.flatMap(within, (texts) => outcome(spec, world, deed, nth, texts.join(" ")))
    })
    const ended = (exit: Exit.Exit<unknown, unknown>) =>
      Effect.sync(() => {
        world.end(deed, stateOf(exit as never), progress.events())
      })
    return spec.streams
      ? Stream.onExit(Stream.concat(Stream.fromEffect(before(spec)), Stream.fromEffect(executed)), ended)
      : Effect.onExit(executed, ended)
  }
  const tool = Tool.make(toolName(program, index), {
    parameters: Parameters,
    success: results[spec.result].schema as Schema.Top,
    effects: spec.effects,
    ...(spec.timeout ? { timeout: "3 seconds" as const } : undefined),
    ...(spec.approval ? { needsApproval: true as const } : undefined),
    ...(spec.untrusted ? { trust: "untrusted" as const } : undefined),
    ...(spec.parts ? { toModelOutput: partsOf } : undefined),
    ...(spec.undo === "no" || spec.effects === "read" ? undefined : {
      compensate: (_: unknown, result: { readonly receipt: string }) =>
        undo(toolName(program, index), spec, result, world, progress)
    }),
    ...(spec.keyed === "no" ? undefined : {
      idempotency: {
        rejected: ["Declined"],
        ...(spec.keyed === "order"
          ? { key: ({ order }: typeof Parameters.Type) => `order ${order}` }
          : undefined)
      }
    }),
    execute
  } as never) as unknown as Tool.Any
  return spec.recovery.length === 0 ? tool : Tool.onError(
    tool as never,
    ((call: Call) =>
      spec.recovery.reduce(
        (recovered, { op, times }) => operators[op](recovered, { times, spec, next: toolBehind(times) }),
        call
      )) as never
  ) as unknown as Tool.Any
}

/** A program, built. */
export interface Built {
  readonly agent: Composed
  readonly tools: ReadonlyArray<Tool.Any>
  readonly model: ScriptedModel.Behaviour
}

const answersOf = ({ content }: Prompt.Prompt): number => content.filter(({ role }) => role === "assistant").length

/** The first letter of the ids of calls: those of the agents with tools, and of the one that has the clerk as its tool. */
const letters: Readonly<Record<string, string>> = { [clerk]: "c", [partner]: "p", [desk]: "d" }

/** The agent's input, in a conversation with so many answers. */
export const question = (answers: number): string => `Do it after ${answers}`

/** Guards' replacement of an input and of an answer. */
export const instead = "something else"

const guardsOf = ({ guards }: Program): object => {
  const refuse = () => Effect.delay(Effect.fail(new Guardrail.UnsafeInput({ category: "drawn" })), "1 second")
  const replace = () => Effect.delay(Effect.succeed(Guardrail.change(instead)), "1 second")
  switch (guards) {
    case "none":
      return {}
    case "replace":
      return { guardInput: replace, guardOutput: replace }
    case "refuseInput":
      return { guardInput: refuse }
    case "refuseAnswer":
      return { guardOutput: refuse }
  }
}

/** The ids of the calls since the last question. */
const callsIn = (content: ReadonlyArray<Prompt.Message>): ReadonlyArray<string> =>
  content.slice(1 + content.findLastIndex(({ role }) => role === "user")).flatMap((message) =>
    message.role === "assistant" ? message.content.flatMap((part) => part.type === "tool-call" ? [part.id] : []) : []
  )

/** Number of the conversation's answers, of which the beginning may be gone: the question and the last calls remain. */
const answeredIn = ({ content }: Prompt.Prompt): number => {
  const asked = /\d+/.exec(textOf(content.findLast(({ role }) => role === "user")?.content ?? ""))?.[0] ?? "0"
  const last = /^[cpd](\d+)_/.exec(callsIn(content).at(-1) ?? "")?.[1]
  return last === undefined ? Number(asked) : Number(last) + 1
}

/** Number of characters of a conversation that the provider accepts. */
const window = 1_500

const tooLong = ScriptedModel.failWith(AiError.make({
  module: "programs",
  method: "generateText",
  reason: new AiError.InvalidRequestError({ metadata: { programs: { kind: "context-length" } } })
}))

const shorter: Readonly<Record<Program["compact"], object | undefined>> = {
  no: undefined,
  end: { maxTokens: 40, by: History.keepLast(2) },
  results: { maxTokens: 40, by: History.trimResults({ characters: 10, keep: 1 }) },
  refused: { by: History.withinTokens(100) }
}

/** The agent that asks the model. */
const speakerOf = ({ content: [first] }: Prompt.Prompt): string => first?.role === "system" ? first.content : ""

const letterOf = (prompt: Prompt.Prompt): string => letters[speakerOf(prompt)] ?? ""

const answerOf = (
  program: Program,
  prompt: Prompt.Prompt,
  said: string
): ScriptedModel.Answer | ScriptedModel.Failure => {
  const speaker = speakerOf(prompt)
  const letter = letterOf(prompt)
  const answered = answeredIn(prompt)
  if (speaker === desk) {
    return callsIn(prompt.content).length === 0
      ? ScriptedModel.calls([0, 1].map((nth) => ({ name: "ask", params: {}, id: `${letter}${answered}_${nth}` })))
      : ScriptedModel.text(said)
  }
  if (program.compact === "refused" && JSON.stringify(prompt.content).length > window) return tooLong
  const calls = program.turns[answered % (program.turns.length + 1)]
  return calls === undefined
    ? ScriptedModel.text(said)
    : ScriptedModel.calls(calls.map(({ order, tool }, index) => ({
      name: toolName(program, tool % program.tools.length),
      params: order === "none" ? {} : { order },
      id: `${letter}${answered}_${index}`
    })))
}

const modelOf = (program: Program, said: string): ScriptedModel.Behaviour => ({ prompt }, index) => {
  const answer = answerOf(program, prompt, said)
  if (answer._tag === "Failure") return answer
  switch (program.model.find(({ at }) => at === index + 1)?.fault) {
    case undefined:
      return answer
    case "fails":
      return ScriptedModel.failure("InternalProviderError")
    case "cut":
      return ScriptedModel.cut(answer, { after: 1 })
    case "hangs":
      return ScriptedModel.hang
    case "slow":
      return ScriptedModel.delay("5 seconds", answer)
    case "strange":
      return {
        ...answer,
        text: undefined,
        calls: [...answer.calls ?? [], {
          name: "strange",
          params: {},
          id: `${letterOf(prompt)}${answeredIn(prompt)}_9`
        }]
      }
  }
}

/** An agent's answer instead of the model's. */
export const substitute = "said in the place of the model"

const onModelError: Readonly<Record<Program["onModelError"], object | undefined>> = {
  end: undefined,
  again: { onModelError: () => ModelError.retry({ times: 1, schedule: Schedule.spaced("1 second") }) },
  answer: { onModelError: () => ModelError.respondWith(substitute) }
}

/** The agent with the tools of a program. */
const agentOf = (
  name: string,
  program: Program,
  tools: ReadonlyArray<Tool.Any>,
  prompt: (input: unknown) => ReadonlyArray<Prompt.Message>
): Composed => {
  const last = toolName(program, tools.length - 1)
  const policies = program.policy === "none" ? [] : [
    Policy.make(
      "last",
      () => program.policy === "deny" ? Policy.deny("closed") : Policy.requireApproval("look at it"),
      { mayRequestApproval: true }
    ).pipe(Policy.forTools(last))
  ]
  return Agent.make(name, {
    instructions: name,
    input: Schema.Unknown,
    prompt,
    ...guardsOf(program),
    ...onModelError[program.onModelError],
    ...(program.offers === "first" ? { prepareTurn: () => ({ tools: [toolName(program, 0)] }) } : undefined),
    tools: tools as never,
    policies: policies as never,
    onTainted: program.onTainted,
    concurrency: program.concurrency,
    compact: shorter[program.compact],
    approval: { timeToLive: "1 hour" },
    ...compensation(program.compensates),
    ...(program.standard ? { defaults: { onError: Recovery.standard } } : undefined),
    budget
  } as never) as unknown as Composed
}

/** Builds a program. `history` is the start of its conversation. */
export const build = (program: Program, world: World, progress: Progress, history?: Prompt.Prompt): Built => {
  const toolsOf = (agent: string): ReadonlyArray<Tool.Any> => {
    const tools: Array<Tool.Any> = []
    for (let index = program.tools.length - 1; index >= 0; index--) {
      tools.unshift(makeTool(program, agent, index, tools, world, progress))
    }
    return tools
  }
  const tools = toolsOf(clerk)
  const prompt = (input: unknown): ReadonlyArray<Prompt.Message> =>
    Prompt.isPrompt(input) ? input.content : Prompt.fromMessages([
      ...(history?.content ?? []),
      ...Prompt.make(
        question(history === undefined ? 0 : answersOf(history)) + (input === instead ? `: ${instead}` : "")
      ).content
    ]).content
  return {
    agent: composed(
      program,
      agentOf(clerk, program, tools, prompt),
      () => agentOf(partner, program, toolsOf(partner), prompt),
      prompt,
      (asked) => progress.onAsked?.(asked)
    ),
    tools,
    model: modelOf(program, world.secret === undefined ? "done" : `done with ${world.secret}`)
  }
}

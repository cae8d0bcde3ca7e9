/**
 * Steps of an agent that is made of agents: the outcome of each, so that the whole can pause at one and resume there.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Schema from "effect/Schema"
import * as Prompt from "effect/ai/Prompt"
import type { Decision } from "../../approval/decision.ts"
import type { Completed, Paused } from "../../approval/outcome.ts"
import { type Checkpoint, type NestedRun } from "../../approval/snapshot.ts"
import { withDefects } from "../../foundation/failureWithDefect.ts"
import { endIn, withAnswer } from "../../history/continuation.ts"
import type { Pause } from "../../loop/pause.ts"
import { type Presentation, presentationOf } from "../../result/delivery.ts"
import { decisionsWithin } from "../../round/resume/nestedPauses.ts"
import { withdrawQuestionsWithin } from "../../round/resume/withdrawQuestions.ts"
import { idWithin } from "../../path/path.ts"
import { type Step, StepNumbers } from "../../path/stepNumbers.ts"
import { doesWait, entriesOf, type Entry, isWaits, known, lostFailure, type Waits, waits } from "./stepOutcome.ts"
import { pauseOfSteps } from "./stepsPause.ts"
import { ToolCall } from "../../call/call.ts"
import { isWithin } from "../../run/writes/compensationLog.ts"
import { noRunMessages, type RunRecord, type Said } from "../../run/runEntries.ts"
import { runCleanups } from "../../run/writes/cleanups.ts"
import { CurrentRun, type Run } from "../../run/run.ts"
import type { Agent, Any } from "../agent.ts"
import type { Form } from "../resume/valueCodec.ts"
import { type Mode, plain as plainMode } from "../runMode.ts"
import { formsOf } from "../resume/storedValue.ts"
import { scopeWithin } from "../newRun.ts"
import { isResumable } from "../services/provideLayer.ts"
import { stoppedWithin } from "../resume/pausedConversation.ts"
import type { From, Resumable } from "../resume/resumableRun.ts"

/** The steps of one run. They are numbered by their order: the same program has the same numbers at each resumption. */
export class Steps {
  private readonly run: Run
  private readonly input: unknown
  private readonly inputForm: Form
  private readonly decisions: ReadonlyArray<Decision>
  private readonly entries: Map<string, Entry>
  /** Withdraws the questions of started steps, until their outcome is known here. */
  private readonly asking = new Map<string, Effect.Effect<void>>()
  /** The agents that the body has replayed or started, with their paths. */
  private readonly agents = new Map<string, { readonly agent: Any; readonly step: Step; readonly input: unknown }>()
  /** Started or resumed steps. */
  private readonly startedIds = new Set<string>()
  /**
   * Steps that waited in an earlier execution, and failed before they resumed: their snapshots could not be claimed.
   */
  private readonly lost = new Set<string>()
  private readonly numbers = new StepNumbers()
  /** Messages of the whole, if it is a conversation. */
  said: () => Said = () => this.conversation()
  /** Messages of steps; those of a waiting step are its earlier ones until it resumes. */
  private readonly heard: Map<string, () => Said>
  /** The steps that received the input of the whole, including those of earlier executions. */
  private readonly asGiven: Set<string>
  private answer: { readonly value: unknown } | undefined

  constructor(
    run: Run,
    given: { readonly input: unknown; readonly form: Form },
    from?: {
      readonly checkpoint: Checkpoint
      readonly decisions: ReadonlyArray<Decision>
      readonly shown: Pick<Presentation, "user">
    }
  ) {
    this.run = run
    this.input = given.input
    this.inputForm = given.form
    this.decisions = from?.decisions ?? []
    this.entries = from === undefined ? new Map() : entriesOf(from.checkpoint)
    this.asGiven = new Set(from?.checkpoint.steps!.asGiven)
    this.heard = new Map((from?.checkpoint.round!.nested ?? []).map(({ callId, snapshot }) => [
      callId,
      () => stoppedWithin(snapshot as unknown as Checkpoint, run, from!.shown)
    ]))
  }

  /** Records the answer of the whole. */
  answered(value: unknown): void {
    this.answer = { value }
  }

  /**
   * Returns the conversation of a whole that received one: that of the step with the final answer, or of the last step
   * that received the conversation. Another final answer is appended. Without an answer of the whole, a step without
   * one has the final state.
   */
  private conversation(): Said {
    const { answer, input, run } = this
    if (!Prompt.isPrompt(input)) return noRunMessages
    const all = [...this.heard].flatMap(([id, heard]) => {
      const said = heard()
      const entry = this.entries.get(id)
      return this.asGiven.has(id) || endIn(said.transcript, input) !== undefined
        ? [{ said, answer: entry?._tag === "Answered" ? { value: entry.value } : undefined }]
        : []
    })
    // A step that was interrupted before its start has no messages.
    const withMessages = all.filter(({ said }) => said.transcript.content.length > 0)
    const heard = withMessages.length > 0 ? withMessages : all
    const answers = heard.filter((one) => one.answer !== undefined)
    const one = answer === undefined
      ? heard.findLast((one) => one.answer === undefined) ?? heard.at(-1)
      : answers.findLast((one) => one.answer?.value === answer.value) ?? answers.at(-1) ?? heard.at(-1)
    const isSaid = answer === undefined || (one?.answer !== undefined && one.answer.value === answer.value)
    const said = one?.said ?? { transcript: input }
    return isSaid ? said : { ...said, transcript: withAnswer(said.transcript, answer.value, run.reading.taintedBy) }
  }

  /**
   * Runs an agent as the next step, or replays its earlier answer. Fails with {@link Waits} if it waits. `takes`: it
   * owns the conversation of the whole from here on, regardless of its content.
   */
  agent<In, Out, E, R>(
    agent: Agent<In, Out, E, R>,
    input: In,
    onRecord?: (record: () => RunRecord) => void,
    takes = input === this.input
  ): Effect.Effect<Out, E, R> {
    const step = this.numbers.next(agent.name)
    this.agents.set(step.id, { agent, step, input })
    return Effect.suspend(() => {
      const entry = this.entries.get(step.id)
      switch (entry?._tag) {
        case "Answered":
          return Effect.succeed(entry.value)
        case "Stored":
          return this.read(step.id, entry.json, formsOf(agent).output)
        case "Failed":
          return Effect.fail(lostFailure)
        case "Waiting": {
          if (this.run.start.isOver) return Effect.andThen(this.endOf(step.id, entry.nested), Effect.fail(waits))
          const decisions = decisionsWithin(step.id, this.decisions)
          return decisions.length === 0 && this.run.log?.isCancelledReplay !== true
            ? Effect.fail(waits)
            : this.proceed(agent, { snapshot: entry.nested.snapshot, decisions }, step, onRecord)
        }
        default:
          if (takes) this.asGiven.add(step.id)
          return this.proceed(agent, { input }, step, onRecord)
      }
    }) as Effect.Effect<Out, E, R>
  }

  /** Runs an effect that is no agent as the next step, or replays its earlier answer. */
  value<A, E, R>(name: string, effect: Effect.Effect<A, E, R>, form: Form): Effect.Effect<A, E, R> {
    const { id } = this.numbers.next(`${name}()`)
    return Effect.suspend((): Effect.Effect<unknown, unknown, unknown> => {
      const entry = this.entries.get(id)
      return entry?._tag === "Stored"
        ? this.read(id, entry.json, form)
        : Effect.tap(effect, (value) => Effect.sync(() => this.entries.set(id, { _tag: "Answered", value, form })))
    }) as Effect.Effect<A, E, R>
  }

  /** Runs several steps in parallel. If one waits, the others complete before the whole waits. */
  together<A, E, R>(steps: ReadonlyArray<Effect.Effect<A, E, R>>): Effect.Effect<Array<A>, E, R> {
    const patient = steps.map((step): Effect.Effect<A | Waits, E, R> =>
      Effect.catchIf(step, isWaits, (error) => Effect.succeed<Waits>(error as unknown as Waits)) as never
    )
    return Effect.flatMap(
      Effect.forEach(patient, (step) => step, { concurrency: "unbounded" }),
      (answers) => answers.some(isWaits) ? this.waiting() : Effect.succeed(answers as Array<A>)
    )
  }

  /** Does several steps at once, and leaves out those that fail. Fails if all do. */
  succeeding<A, E, R>(
    steps: ReadonlyArray<Effect.Effect<A, E, R>>
  ): Effect.Effect<readonly [A, ...ReadonlyArray<A>], E, R> {
    return Effect.flatMap(
      Effect.forEach(steps, (step) => Effect.exit(step), { concurrency: "unbounded" }),
      (exits) => {
        const failed = exits.filter(Exit.isFailure)
        if (failed.some(({ cause }) => doesWait(cause))) return this.waiting()
        const [first, ...others] = exits.filter(Exit.isSuccess).map(({ value }) => value)
        return failed.length < exits.length
          ? Effect.as(this.settled(this.withdrawLost), [first as A, ...others] as const)
          : Effect.failCause(known(withDefects(failed.map(({ cause }) => cause).reduce(Cause.combine))))
      }
    )
  }

  /**
   * Runs several steps in parallel, and answers with the first success. If none succeeds, those that wait may still.
   */
  race<A, E, R>(steps: ReadonlyArray<Effect.Effect<A, E, R>>): Effect.Effect<A, E, R> {
    return Effect.matchCauseEffect(Effect.raceAll(steps), {
      onFailure: (cause) => doesWait(cause) ? this.waiting() : Effect.failCause(known(cause)),
      // Waiting steps are not resumed.
      onSuccess: (answer) => Effect.as(this.settled(Effect.andThen(this.withdraw, this.unmet)), answer)
    })
  }

  private settled(withdrawn: Effect.Effect<void>): Effect.Effect<void> {
    return Effect.uninterruptible(Effect.andThen(withdrawn, Effect.suspend(() => runCleanups(this.run))))
  }

  private waiting(): Effect.Effect<never> {
    return Effect.fail(waits) as unknown as Effect.Effect<never>
  }

  private read(id: string, json: Schema.Json, form: Form): Effect.Effect<unknown, never, unknown> {
    return Effect.tap(
      form.read(json),
      (value) => Effect.sync(() => this.entries.set(id, { _tag: "Answered", value, form }))
    )
  }

  private proceed<In, Out, E, R>(
    agent: Agent<In, Out, E, R>,
    from: From<In>,
    step: Step,
    onRecord: ((record: () => RunRecord) => void) | undefined
  ): Effect.Effect<unknown, unknown, unknown> {
    const { id } = step
    this.startedIds.add(id)
    let withdraw: Effect.Effect<void> = Effect.void
    const mode: Mode = {
      ...plainMode,
      step,
      mayPause: this.run.start.mayPause,
      onRecord: (record) => {
        this.heard.set(id, record)
        onRecord?.(record)
      },
      onQuestions: (effect) => {
        withdraw = effect
        this.asking.set(id, effect)
      },
      // From here on it calls its questions off itself.
      onStarted: () => void this.entries.delete(id)
    }
    const outcome: Effect.Effect<Completed<unknown> | Paused | { readonly output: unknown }, unknown, unknown> =
      isResumable<In>(agent)
        ? (agent as Resumable<In, unknown, unknown, unknown>).proceed(from, mode)
        : "input" in from
        ? Effect.map(agent.runIn(from.input, mode), (output) => ({ output }))
        : Effect.fail(waits)
    return Effect.matchCauseEffect(outcome, {
      onFailure: (cause) => {
        if (this.entries.get(id)?._tag === "Waiting") this.lost.add(id)
        // In parallel to waiting steps, one that dies has failed too, and does not run again.
        if (!this.entries.has(id) && !cause.reasons.every(Cause.isInterruptReason)) {
          this.entries.set(id, { _tag: "Failed" })
        }
        return Effect.failCause(cause)
      },
      onSuccess: (ended) => {
        this.asking.delete(id)
        if ("output" in ended) {
          this.entries.set(id, { _tag: "Answered", value: ended.output, form: formsOf(agent).output })
          return Effect.succeed(ended.output)
        }
        const { pending, snapshot } = ended
        this.entries.set(id, {
          _tag: "Waiting",
          nested: { callId: id, arguments: {}, snapshot: snapshot as unknown as Schema.Json },
          pending: pending.map((call) => ({ ...call, callId: idWithin(id, call.callId) })),
          withdraw
        })
        return Effect.fail(waits)
      }
    })
  }

  /** Compensates started steps of an earlier execution that this one resumes or ends without reaching them. */
  get unmet(): Effect.Effect<void> {
    const { run } = this
    const { log } = run
    if (log?.isReplay !== true || run.start.isOver) return Effect.void
    return Effect.contextWith((context: Context.Context<never>) => {
      const call = Context.getOrUndefined(context, ToolCall)
      const unsettled = log.compensations.unsettled()
      for (const [id, { agent, input, step }] of this.agents) {
        if (this.startedIds.has(id) || this.entries.has(id)) continue
        const scope = scopeWithin({ parent: run, call, name: agent.name, position: step.position, input: undefined })
        if (!unsettled.some((write) => isWithin(scope, write))) continue
        this.startedIds.add(id)
        const mode: Mode = { ...plainMode, step, mayPause: true, over: {} }
        const ended: Effect.Effect<unknown, unknown, unknown> = isResumable(agent)
          ? agent.proceed({ input }, mode)
          : (agent as Agent<unknown, unknown, unknown, unknown>).runIn(input, mode)
        const end = Effect.provideService(Effect.exit(ended), CurrentRun, run)
        run.nested.registerCleanup({ end: Effect.asVoid(end), context })
      }
      return Effect.void
    })
  }

  /** Withdraws the questions: once started, all of them, because no other component knows of the rest. */
  get withdraw(): Effect.Effect<void> {
    return Effect.uninterruptible(
      Effect.suspend(() =>
        Effect.andThen(
          this.withdrawWaiting(() => true),
          Effect.suspend(() => Effect.forEach(this.asking.values(), (withdraw) => withdraw, { discard: true }))
        )
      )
    )
  }

  /**
   * Withdraws the questions of steps that waited, and could not resume. They have failed, also if the whole waits for
   * another step.
   */
  private get withdrawLost(): Effect.Effect<void> {
    return this.lost.size === 0 ? Effect.void : Effect.andThen(
      this.withdrawWaiting((id) => this.lost.has(id)),
      Effect.sync(() => {
        for (const id of this.lost) this.entries.set(id, { _tag: "Failed" })
      })
    )
  }

  private withdrawWaiting(isCalledOff: (id: string) => boolean): Effect.Effect<void> {
    return Effect.contextWith((context: Context.Context<never>) => {
      const asked = [...this.entries].flatMap(([id, entry]) =>
        entry._tag === "Waiting" && isCalledOff(id) ? [[id, entry] as const] : []
      )
      for (const [id] of asked) this.entries.delete(id)
      return Effect.forEach(asked, ([id, { nested, withdraw }]) =>
        withdraw ?? Effect.andThen(
          withdrawQuestionsWithin(this.run, presentationOf(context), nested, false),
          Effect.sync(() => {
            if (this.run.start.isOver) return
            this.run.nested.registerCleanup({ end: this.endOf(id, nested), context })
          })
        ), { discard: true })
    })
  }

  /** Ends a step that waited in an earlier execution, and that will not be resumed. */
  private endOf(id: string, { snapshot }: NestedRun): Effect.Effect<void, never, unknown> {
    const found = this.agents.get(id)
    return found !== undefined && isResumable(found.agent)
      ? Effect.provideService(
        found.agent.end(snapshot, {}, {
          step: found.step,
          onRecord: (record) => void this.heard.set(id, record)
        }),
        CurrentRun,
        this.run
      )
      : Effect.void
  }

  /** Returns the pause of the whole if a step waits. Dies if JSON cannot represent the answers of earlier steps. */
  pause(agents: ReadonlyArray<string>): Effect.Effect<Pause, never, unknown> {
    // As the steps are written, and not as they came to wait: a person is asked in the same order each time.
    const waiting = [...new Set([...this.agents.keys(), ...this.entries.keys()])].flatMap((id) => {
      const entry = this.entries.get(id)
      return entry?._tag === "Waiting" ? [entry] : []
    })
    const { asGiven, entries, input, inputForm, run } = this
    return pauseOfSteps(run, { input, inputForm, entries, asGiven }, waiting, agents)
  }
}

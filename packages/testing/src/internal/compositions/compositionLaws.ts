/** Laws about compositions: about payments, and about their reports. */
import { type AgentEvent, History } from "@recourse/core"
import { mostWrites } from "./executors.ts"
import type { Composition } from "./composition.ts"
import type { ObservedComposition } from "./observeComposition.ts"
import type { Payment } from "./payments.ts"
import { boss, planted } from "./scene.ts"

/**
 * A law about compositions: the ways in which one of them breaks it.
 *
 * @category models
 * @since 0.2.0
 */
export type CompositionRule = (run: ObservedComposition) => ReadonlyArray<string>

const named = ({ bank, callId, order, place }: Payment): string =>
  `the payment of ${order} at bank ${bank} by ${callId} (call ${place.root}, step ${place.step})`

const isPaid = ({ payments }: ObservedComposition, { receipt }: Payment): boolean =>
  receipt !== undefined && !payments.compensated.has(receipt)

/** True if a payment may have been made: the bank has not declined it, nor a later one under its key. */
const mayBePaid = ({ payments }: ObservedComposition, { bank, key, receipt, state }: Payment): boolean =>
  state !== "declined" && (receipt !== undefined || key === undefined ||
    !payments.all.some((other) => other.key === key && other.bank === bank && other.state === "declined"))

/** Reports of the calls of the outer model, by their ids. */
const claimsOf = ({ executions }: ObservedComposition): ReadonlyMap<string, History.Claim> => {
  const transcript = executions.at(-1)?.record?.transcript
  return new Map(transcript === undefined ? [] : History.claims(transcript).map((claim) => [claim.id, claim]))
}

const isOfBoss = (event: AgentEvent.AgentEvent): boolean => event.path.length === 1 && event.path[0] === boss

/** The number of the event in which a call of the outer model ended in a process. */
const endOf = ({ events }: ObservedComposition, { place, process }: Payment): number => {
  const end = events.findIndex(({ event, process: other }) =>
    other === process && isOfBoss(event) &&
    ((event._tag === "ToolResult" && event.callId === place.root) ||
      (event._tag === "RunFinished" && event.outcome !== "paused"))
  )
  return end < 0 ? Infinity : end
}

const isApproved = ({ pauses }: ObservedComposition, { after, order }: Payment): boolean =>
  pauses.some((pause) =>
    pause.after <= after &&
    pause.pending.some((call) =>
      call.arguments["order"] === order &&
      pause.decisions.some((decision) => decision._tag === "Approve" && decision.callId === call.callId)
    )
  )

const most = ({ composition }: ObservedComposition, step: string): number => {
  const found = composition.steps[Number(step)]
  return found === undefined ? 1 : mostWrites(found)
}

/**
 * Not held: calls by hand of two tools of one name with equal arguments. A tool object that is new behind a failed call of the name is taken
 * for the failed tool, made again.
 */
const looksMadeAgain = ({ bank, keyed, steps }: Composition): boolean =>
  keyed !== "order" && bank.some((outcome) => outcome !== "ok" && outcome !== "slow") &&
  steps.some(({ does }) => does === "otherBank") && steps.some(({ does }) => does === "pay" || does === "obey")

/** True if later executions know of the earlier ones by the ledger alone. */
const hasNoJournal = ({ deployed, executions }: Composition): boolean =>
  executions.length > 0 && deployed === "withoutJournal"

const isFinal = ({ executions }: ObservedComposition): boolean => {
  const last = executions.at(-1)
  return last !== undefined && last.stopped === undefined && last.record !== undefined
}

/**
 * Laws of drawn compositions, by name. Each returns the breaches in one observed run.
 *
 * @category constants
 * @since 0.2.0
 */
export const compositionLaws = {
  /** An order of an untrusted page is not paid without an approval of exactly that order. */
  untrusted_is_not_obeyed: (run) =>
    run.payments.all.flatMap((payment) =>
      payment.order === planted && !isApproved(run, payment) ? [`${named(payment)} was never approved`] : []
    ),

  /** An answer that names a bank comes from the bank that was asked. */
  writes_reach_their_own_service: ({ composition, pauses, payments }) =>
    // A later process, or a resumed run, does not know which tool claimed an entry.
    composition.executions.length > 0 || pauses.length > 0 || looksMadeAgain(composition) ?
      [] :
      payments.answers.flatMap(({ bank, text }) =>
        ["A", "B"].flatMap((other) =>
          other !== bank && text.includes(`paid by ${other}`)
            ? [`bank ${bank} was asked, and bank ${other} answers: ${text}`]
            : []
        )
      ),

  /** A decision of the outer model writes once in each step, however often the step is repeated, and over all executions. */
  one_write_for_each_decision: (run) => {
    if (hasNoJournal(run.composition)) return []
    const receipts = new Map<string, Set<string>>()
    for (const payment of run.payments.all) {
      const { order, place, receipt } = payment
      if (receipt === undefined || run.payments.compensated.has(receipt)) continue
      const id = JSON.stringify([place.root, place.step, order])
      receipts.set(id, new Set([...receipts.get(id) ?? [], receipt]))
    }
    return [...receipts].flatMap(([id, given]) => {
      const [root, step, order] = JSON.parse(id) as [string, string, string]
      return given.size > most(run, step)
        ? [`step ${step} of ${root} has paid ${order} ${given.size} times: ${[...given].join(", ")}`]
        : []
    })
  },

  /** A call within which a payment may have been made is not reported as one that was not made, in each ending. */
  started_is_reported: (run) => {
    if (!isFinal(run)) return []
    const claims = claimsOf(run)
    const isOfRun = ({ key, place }: Payment): boolean =>
      !hasNoJournal(run.composition) || (key !== undefined && place.step === "itself")
    return run.payments.all.filter(isOfRun).flatMap((payment) => {
      const claim = claims.get(payment.place.root)
      if (!mayBePaid(run, payment) || (payment.receipt !== undefined && !isPaid(run, payment))) return []
      if (payment.after > endOf(run, payment)) return []
      if (claim === undefined) return [`${named(payment)} was made, and its call is in no conversation`]
      return claim.state === "failed" || claim.state === "denied"
        ? [`${named(payment)} may have been made (${payment.state}), and its call is reported as ${claim.code}`]
        : []
    })
  },

  /** A payment that is reported as done was made, and is not compensated. */
  done_was_done: (run) => {
    if (!isFinal(run) || hasNoJournal(run.composition)) return []
    return [...claimsOf(run).values()].flatMap(({ id, state, tool }) => {
      if (state !== "done" || tool !== "pay") return []
      const { payments } = run
      const receipt = receiptOf(run, id)
      if (receipt === undefined) return []
      if (!payments.all.some((payment) => payment.receipt === receipt)) return [`${id} reports ${receipt}, never given`]
      return payments.compensated.has(receipt) ? [`${id} reports ${receipt} as done, and it is compensated`] : []
    })
  },

  /** No write starts after the end of the call, or of the run, that it is made in. */
  no_write_starts_after_its_call: (run) =>
    run.payments.all.flatMap((payment) =>
      payment.after > endOf(run, payment) ? [`${named(payment)} started after the end of its call`] : []
    ),

  /** Each execution ends by itself within its time, whichever callback does not answer. */
  callbacks_hold_no_run: ({ composition, executions, payments }) => {
    const hanging = composition.callbacks.filter(({ fails }) => fails === "hangs").length
    const limit = 75_000 + hanging * 60_000 + payments.all.length * 2_000
    return executions.flatMap(({ stopped, took }, number) => [
      ...(stopped === undefined || stopped === "killed" ? [] : [`execution ${number} did not end: ${stopped}`]),
      ...(took > limit ? [`execution ${number} took ${took} ms of ${limit}`] : [])
    ])
  },

  /** A run that fails compensates each payment that may have been made, by any of its executions, or reports it. */
  failed_runs_compensate_or_report: (run) => {
    const { composition, executions, payments } = run
    if (
      !composition.compensates || !isFinal(run) || !hasFailed(run) ||
      hasNoJournal(composition)
    ) {
      return []
    }
    const last = executions.at(-1)
    const reported = [
      ...payments.reported,
      ...last!.record?.compensations?.flatMap(({ callId, outcome }) => outcome === "not_undone" ? [callId] : []) ?? []
    ]
    return payments.all.flatMap((payment) => {
      const { callId } = payment
      const isKnown = payments.all.some((other) =>
        isOneWrite(payment, other) && other.receipt !== undefined && payments.compensated.has(other.receipt)
      )
      return !mayBePaid(run, payment) || isKnown ||
          reported.some((id) => isSameCall(id, callId) || isAnswered(run, id, payment))
        ? []
        : [`${named(payment)} may have been made (${payment.state}), and is neither compensated nor reported`]
    })
  },

  /** No payment is compensated under two keys. */
  compensated_once: ({ composition, payments }) =>
    hasNoJournal(composition) ?
      [] :
      [...payments.compensating].flatMap(([receipt, keys]) =>
        keys.size > 1 ? [`${receipt} was compensated under ${keys.size} keys`] : []
      )
} as const satisfies Readonly<Record<string, CompositionRule>>

const receiptOf = ({ executions }: ObservedComposition, id: string): string | undefined => {
  for (const { content, role } of executions.at(-1)?.record?.transcript.content ?? []) {
    if (role !== "tool") continue
    for (const part of content) {
      if (part.type === "tool-result" && part.id === id) {
        return /receipt-[AB]-\d+/.exec(JSON.stringify(part.result))?.[0]
      }
    }
  }
  return undefined
}

const isSameCall = (id: string, callId: string): boolean =>
  id === callId || id.endsWith(`/${callId}`) || callId.endsWith(`/${id}`)

/**
 * True if a call has paid an order under the order's key: it may be the call that the ledger answered with the payment.
 */
const isAnswered = ({ composition, executions }: ObservedComposition, id: string, { order }: Payment): boolean =>
  composition.keyed === "order" &&
  executions.at(-1)?.record?.executed.some((call) =>
      isSameCall(call.callId, id) && call.arguments === JSON.stringify({ order })
    ) === true

/**
 * True if two payments are one write: the same one, or of one key. A later process does not know the tool that has
 * claimed a key.
 */
const isOneWrite = (one: Payment, other: Payment): boolean =>
  one === other ||
  (one.key !== undefined && one.key === other.key && (one.bank === other.bank || one.process !== other.process))

/** True if the run has failed for good: not with the question of an agent that its executor runs. */
const hasFailed = ({ events, executions }: ObservedComposition): boolean => {
  const own = events.flatMap(({ event, process }) => process === executions.length - 1 ? [event] : [])
  const last = own.findLast(({ _tag }) => _tag === "RunFinished")
  return last?._tag === "RunFinished" && last.outcome === "failure" && last.code !== "approval_required" &&
    !own.some((event) => event._tag === "AgentFinished" && event.outcome === "paused")
}

/**
 * The name of a law about compositions.
 *
 * @category models
 * @since 0.2.0
 */
export type CompositionLaw = keyof typeof compositionLaws

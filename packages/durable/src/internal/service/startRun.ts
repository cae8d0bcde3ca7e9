/** Start of a run. */
import * as Effect from "effect/Effect"
import * as WebCrypto from "effect/crypto/WebCrypto"
import type * as Schema from "effect/Schema"
import type { InvalidInput } from "@recourse/core/AgentError"
import * as Compensation from "@recourse/core/Compensation"
import { RunConflict, type RunsService, type RunsUnavailable, UnknownAgent } from "@recourse/core/Runs"
import { inputToStored, namesConversation } from "../store/conversation.ts"
import { inputOf } from "../agent/definition.ts"
import { startedBy } from "../store/startedBy.ts"
import { canonical } from "../store/references.ts"
import * as Requests from "../store/requests.ts"
import { Parent } from "../queue/slot.ts"
import type { Store, StoredRun } from "../store/store.ts"
import { currentTrace } from "../run/trace.ts"
import type { Here } from "./here.ts"
import { available } from "./storedRuns.ts"

type Added = Effect.Success<ReturnType<Store["insert"]>>

/** True if a run was started with an input. A database may return an object with its keys in another order. */
const isInput = (run: StoredRun, input: Schema.Json): Effect.Effect<boolean> =>
  namesConversation(run.input)
    ? Effect.map(inputToStored(input, run.owner), (stored) => canonical(run.input) === canonical(stored.input))
    : Effect.succeed(canonical(run.input) === canonical(input))

/** The run that a run is stored with: the one that starts it, or the one whose write it compensates. */
const parentOf = (agent: string, input: unknown): Effect.Effect<string | undefined> =>
  Compensation.isName(agent)
    ? Effect.succeed((input as Compensation.Request).runId)
    : Effect.map(Parent, (parent) => parent?.runId)

/** Makes the operation `start`. */
export const startRun = (
  store: Store,
  { agents, conversations, starting }: Here,
  cancel: (runId: string) => Effect.Effect<unknown, RunsUnavailable>
): RunsService["start"] =>
  Effect.fnUntraced(function*({ agent, delay, input, owner, runId }) {
    const registered = agents().starts(agent)
    if (registered === undefined) {
      return yield* Effect.fail(new UnknownAgent({ agent, registered: agents().names }))
    }
    yield* Effect.provideContext(
      inputOf(registered.definition, input),
      registered.context
    ) as Effect.Effect<unknown, InvalidInput>
    const id = runId === undefined
      ? `run_${(yield* WebCrypto.WebCrypto).randomUUID().replaceAll("-", "")}`
      : runId
    const delayMillis = yield* Requests.started(agent, { runId: id, owner, delay })
    const { version } = registered.definition
    const toStored = yield* inputToStored(input as Schema.Json, owner)
    const parent = yield* parentOf(agent, input)
    /** Cancels it with its parent: one that was cancelled before had no such child. A purged one has no child either. */
    const cancelWithParent = ({ isNew, run }: Added) =>
      parent === undefined || startedBy(run) !== parent
        ? Effect.void
        : Effect.flatMap(
          available(store.get(parent)),
          (found) => (found?.isCancelled ?? isNew) ? cancel(id) : Effect.void
        )
    const release = ({ isNew, run }: Added) =>
      isNew && run.status === "running"
        ? Effect.forkDetach(Effect.ignore(store.settle(run, { status: "queued" }))) :
        Effect.void
    const added = {
      runId: id,
      agent,
      version,
      owner,
      ...toStored,
      parent,
      trace: yield* currentTrace,
      delayMillis
    }
    const insert = (leaseMillis?: number) =>
      Effect.tap(available(store.insert({ ...added, leaseMillis })), (result) => {
        if (result.isNew) conversations.begin(id, toStored)
        // A caller that is interrupted does not execute its run.
        return Effect.onInterrupt(cancelWithParent(result), () => release(result))
      })
    const { isNew, run } = yield* added.delayMillis === undefined ? starting(agent, insert) : insert()
    if (run.agent !== agent) return yield* Effect.fail(new RunConflict({ runId: id, differs: "agent" }))
    if (!isNew && !(yield* isInput(run, input as Schema.Json))) {
      return yield* Effect.fail(new RunConflict({ runId: id, differs: "input" }))
    }
    return { runId: id, isNew }
  })

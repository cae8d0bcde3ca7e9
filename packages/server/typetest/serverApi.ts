/** The typed client: what it takes, what it answers, and the problems that it names. */
import type { Effect } from "effect"
import type { ServerApi } from "@recourse/server"

declare const client: ServerApi.Client

type Equals<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false
const same = <_A, _B>(equals: Equals<_A, _B>) => equals

const get = client.runs.get({ params: { run: "run_1" } })
same<
  Effect.Success<typeof get>["status"],
  "queued" | "running" | "waiting" | "completed" | "failed" | "cancelled"
>(true)
same<
  Extract<Effect.Error<typeof get>, { readonly status: 404 }>["title"],
  "UnknownAgent" | "UnknownRun" | "ThreadNotFound"
>(true)
// @ts-expect-error An owner is not told to the owner's own pages.
export type Owner = Effect.Success<typeof get>["owner"]

const seen = client.operator.run({ params: { run: "run_1" } })
same<Effect.Success<typeof seen>["owner"], string | undefined>(true)

client.runs.list({ query: { status: "waiting" } })
// @ts-expect-error There is no such status.
client.runs.list({ query: { status: "asleep" } })
// @ts-expect-error An agent is missing.
client.runs.start({ payload: { message: "Hi" } })
client.runs.decide({
  params: { run: "run_1" },
  payload: { decisions: [{ _tag: "Approve", callId: "c", argumentsHash: "h" }] }
})
client.runs.decide({
  params: { run: "run_1" },
  // @ts-expect-error A rejection has a reason.
  payload: { decisions: [{ _tag: "Reject", callId: "c", argumentsHash: "h" }] }
})

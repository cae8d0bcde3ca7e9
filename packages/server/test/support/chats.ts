/** The chats of a server, of which the package shows none. */
import type { Conversation, Runs } from "@recourse/core"
import type { Effect, Scope } from "effect"

export interface Message {
  readonly agent: string
  readonly owner: string
  readonly thread: string
  readonly messageId: string
  readonly message: string
}

export interface TestedChats {
  readonly send: (message: Message) => Effect.Effect<{ readonly runId: string }, unknown>
  readonly decide: (
    who: { readonly owner: string; readonly thread: string; readonly by: string },
    answers: ReadonlyArray<readonly [object, object]>
  ) => Effect.Effect<unknown, unknown>
  readonly stop: (runId: string, owner: string, thread?: string) => Effect.Effect<void, unknown>
  readonly adopt: (key: { readonly owner: string; readonly thread: string }) => Effect.Effect<void, unknown>
}

export const { Chats } = await import(new URL("../../src/internal/chat/chats.ts", import.meta.url).href) as {
  readonly Chats: new(
    runs: Runs.RunsService,
    conversations: Conversation.Conversations["Service"],
    scope: Scope.Scope,
    options: { readonly onBusy: "refuse" | "queue" | "join" | "interrupt" }
  ) => TestedChats
}

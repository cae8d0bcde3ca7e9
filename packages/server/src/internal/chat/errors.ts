/** Errors of chats: no run was started. */
import * as Schema from "effect/Schema"

/** Another answer was asked for in place of one that is not the newest of its thread. */
export class AnswerOutdated extends Schema.TaggedError<AnswerOutdated>()("AnswerOutdated", {}) {
  override get message(): string {
    return "Only the newest answer can be replaced: load the conversation again"
  }
}

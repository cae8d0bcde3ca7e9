/** Step of an attempt: announces it, and marks the call as untrusted if its tool is. A ledger's answer has the same text. */
import { before } from "../../foundation/effect/sequence.ts"
import { announceAttempt } from "../attemptLog.ts"
import { noteUntrusted } from "../children/untrustedReads.ts"
import type { Step } from "./attemptState.ts"

export const announceStart: Step = (next) => (attempt) =>
  before(announceAttempt(attempt), () => {
    const { info } = attempt.tool
    if (info.results.areUntrusted) noteUntrusted(attempt, info.name)
    return next(attempt)
  })

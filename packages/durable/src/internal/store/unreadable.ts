/**
 * Stored data that cannot be read: edited by hand, half written, or deleted. Each owner of a run would read the same, so
 * the run ends with a failure that names it.
 */
import type { Failure } from "@recourse/core/Runs"
import { RunStoreError } from "./storeError.ts"

/** The failure of a run whose stored data cannot be read. */
export const runUnreadable: Failure = { error: "RunUnreadable", code: "execution_error", userMessage: "" }

/** Data of a run that cannot be read. */
export class Unreadable {
  readonly _tag = "Unreadable"
  readonly data: string

  constructor(data: string) {
    this.data = data
  }
}

/** True for a failure that each further read has, too. */
export const isUnreadable = (error: unknown): error is RunStoreError & { readonly reason: Unreadable } =>
  error instanceof RunStoreError && error.reason instanceof Unreadable

/** Makes the failure of a read. */
export const unreadable = (data: string): RunStoreError =>
  new RunStoreError({ operation: "read", reason: new Unreadable(data) })

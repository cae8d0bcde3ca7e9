/** Kinds of recovery, and the field of a call that says that it was used. */
export const recoveryKinds = [
  ["retry", "isRetried"],
  ["fix", "isFixed"],
  ["fallback", "isFallback"],
  ["escalation", "isEscalated"]
] as const

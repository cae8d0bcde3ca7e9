/** Calls as a message names them. */

/** Names a call in the message: ids of calls are unique in one agent's run only. */
export const callIdOf = ({ agentRunId, callId, runId }: {
  readonly agentRunId: string
  readonly callId: string
  readonly runId: string
}): string => agentRunId === runId ? callId : `${agentRunId}/${callId}`

/** Arguments as a value; a text that is no JSON as it is. */
export const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

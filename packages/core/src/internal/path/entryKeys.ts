/**
 * Keys of the entries in the journal of a run. `place` is the path of a run in which each attempt of a call has places of its own: an answer of
 * the model in one attempt is no answer in the next one.
 */
/** Returns the place of a call within the run of its agent, or of a program: the attempts of the calls around it are part of it. */
export const attemptOf = (call: string, attempts: number): string => `${call}@${attempts}`

/** Returns the same of a call behind whose attempts something runs. */
export const afterAttempts = (call: string, attempts: number): string => `${call}@after ${attempts}`

/** Returns the place of a call that a tool makes. */
export const callWithin = (outer: string, attempts: number, call: string): string =>
  `${attemptOf(outer, attempts)}/${call}`

/** `model`: an answer of the model. `wait`: the waits behind its failed requests, numbered. */
export const turnKey = (place: string, turn: number): string => `${place}/${turn}`

/** `call`: the outcome of a call of the model. `wait`: the waits of a call between its attempts, numbered. */
export const callKey = (place: string, callId: string): string => `${place}/${callId}`

/** `write`: the start of an attempt, and `child`: its outcome. */
export const startKey = (path: string, attempt: number): string => `${path}@${attempt}`

/** `wait`: an answer that a guard delayed was announced. */
export const announcedKey = (turn: string): string => `told ${turn}`

/** `wait`: messages of the run's inbox joined it before a turn. */
export const joinedKey = (turn: string): string => `joined ${turn}`

/** `wait`: an approval came in time. */
export const inTimeKey = (place: string, callId: string, requestedAt: number): string =>
  `in time ${place}/${callId}@${requestedAt}`

/** `compensation`: a write is known not to have happened. */
export const notHappenedKey = (write: string): string => `not ${write}`

/** Field of a start entry that describes its write. Its spelling is stored. */
export const writeField = "begun"

/** `compensation`: the compensation of a write starts. Its outcome has the id of the write as its key. */
export const compensationKey = (write: string): string => `begun ${write}`

/** `compensation`: the outcome of a compensation is in the audit and was announced. */
export const auditedKey = (write: string): string => `told ${write}`

/** `compensation`: a write that was not compensated has been reported to people. */
export const reportedKey = (write: string): string => `reported ${write}`

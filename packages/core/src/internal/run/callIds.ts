/** Ids of calls within calls. */

/** Stands between the ids of a call and of one within it. No id that a model gives holds it: see `callIds.ts`. */
export const separator = "/"

/** The id of a call within another one. */
export const idWithin = (callId: string, id: string): string => `${callId}${separator}${id}`

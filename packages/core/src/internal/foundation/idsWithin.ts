/** Ids of calls within calls, such as `call_1/pay_1`. */

/** Stands between the ids of a call and of one within it. No id that a model gives holds it: see {@link withoutUnkept}. */
export const separator = "/"

/** What no id of a call holds: it would be read as another one, or not be stored by a database. */
const unkept = /[\0/\p{Surrogate}]/gu

/** Printable ASCII without the separator: the ids that most models give. */
const ordinary = /^[ -.0-~]*$/

/** An id as a model gave it, without what no id of a call holds. */
export const withoutUnkept = (id: string): string => ordinary.test(id) ? id : id.replaceAll(unkept, "_")

/** The id of a call within another one. */
export const idWithin = (callId: string, id: string): string => `${callId}${separator}${id}`

/** The call that a call is made in, as events name it; nothing for a call of the model. */
export const outerCallsOf = (callId: string): { readonly parentCallId: string } | undefined => {
  const at = callId.lastIndexOf(separator)
  return at < 0 ? undefined : { parentCallId: callId.slice(0, at) }
}

/** Whether a step with this id runs an agent with this name: see `Steps`. */
export const isStepOf = (id: string, name: string): boolean => {
  const base = name.replaceAll(separator, "_")
  return id === base || id.startsWith(`${base}#`)
}

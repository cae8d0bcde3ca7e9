/** Ids of calls and runs within others, in the form of events and people: `call_1/pay_1`. */
/** Separates the ids of a call and of an inner one. No id of a model contains it: see {@link withoutUnkept}. */
export const separator = "/"

/** Characters that no id of a call contains: it would be parsed as another one, or a database would not store it. */
const unkept = /[\0/\p{Surrogate}]/gu

/** Printable ASCII without the separator: the ids that most models give. */
const ordinary = /^[ -.0-~]*$/

/** An id of a model, without excluded characters. */
export const withoutUnkept = (id: string): string => ordinary.test(id) ? id : id.replaceAll(unkept, "_")

/** The id of a call within another one, or of an agent's run within another one. */
export const idWithin = (outer: string, id: string): string => `${outer}${separator}${id}`

/** Returns the id that a call has within an outer one; `undefined` if it is not within that. */
export const idBelow = (outer: string, id: string): string | undefined => {
  const prefix = idWithin(outer, "")
  return id.startsWith(prefix) ? id.slice(prefix.length) : undefined
}

/** True if a call is within an outer one. */
export const isIdBelow = (outer: string, id: string): boolean => id.startsWith(idWithin(outer, ""))

/** A name as one part of an id. */
export const idPart = (name: string): string => name.replaceAll(separator, "_")

/** Returns the outer call of a call, named as in events; an empty object for a call of the model. */
export const outerCallsOf = (callId: string): { readonly parentCallId: string } | undefined => {
  const at = callId.lastIndexOf(separator)
  return at < 0 ? undefined : { parentCallId: callId.slice(0, at) }
}

/** True if a step with this id runs an agent with this name: see `StepNumbers`. */
export const isStepOf = (id: string, name: string): boolean => {
  const base = idPart(name)
  return id === base || id.startsWith(`${base}#`)
}

/** Inputs of Standard Schemas by their outputs, for executors that validate once more: a transformation must not run twice. */

interface Validated {
  readonly schema: unknown
  readonly input: unknown
}

const validated = new WeakMap<object, Validated>()

/** Notes the input that a schema has validated to an output. */
export const noteInput = (schema: unknown, input: unknown, output: unknown): void => {
  if (typeof output === "object" && output !== null) validated.set(output, { schema, input })
}

/** Returns the input that the schema has validated to the output, and the output if it is not of this schema. */
export const inputOf = (schema: unknown, output: unknown): unknown => {
  const known = typeof output === "object" && output !== null ? validated.get(output) : undefined
  return known !== undefined && known.schema === schema ? known.input : output
}

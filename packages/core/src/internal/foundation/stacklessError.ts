/**
 * Errors without a stack trace. The stack of a Recourse error would only name a place in Recourse, and making it costs
 * more than everything else about a failed attempt. The executor's own error keeps its stack.
 */
export const stackless = <E extends Error>(make: () => E): E => {
  const limit: unknown = Reflect.get(Error, "stackTraceLimit")
  Reflect.set(Error, "stackTraceLimit", 0)
  try {
    return make()
  } finally {
    Reflect.set(Error, "stackTraceLimit", limit)
  }
}

/** Values made at their first use: codecs that take long to make, and that few programs need at their start. */

/** Returns a function that makes the value in its first call, and returns that value in each later one. */
export const atFirstUse = <A extends object>(make: () => A): () => A => {
  let made: A | undefined
  return () => made ??= make()
}

/** Returns a function that remembers its last value: it makes another one only for another input. */
export const ofLatest = <In, A extends object>(make: (input: In) => A): (input: In) => A => {
  let latest: { readonly input: In; readonly value: A } | undefined
  return (input) => {
    if (latest === undefined || latest.input !== input) latest = { input, value: make(input) }
    return latest.value
  }
}

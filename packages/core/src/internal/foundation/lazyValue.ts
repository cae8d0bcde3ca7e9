/** Values made at their first use: codecs that take long to make, and that few programs need at their start. */

/** Returns a function that makes the value in its first call, and returns that value in each later one. */
export const atFirstUse = <A extends object>(make: () => A): () => A => {
  let made: A | undefined
  return () => made ??= make()
}

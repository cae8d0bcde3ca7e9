/** Codes that errors of rooms above the projections carry, under a key that errors of programs cannot have. */

/** The key of the code. */
export const OwnCode: unique symbol = Symbol("OwnCode")

/** The code that an error carries. */
export const ownCode = (error: unknown): string | undefined =>
  (error as { readonly [OwnCode]?: string } | null | undefined)?.[OwnCode]

/** Whether two types are the same, in both directions. */
export type Equals<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true
  : ([A] extends [B] ? ([B] extends [A] ? true : { readonly expected: B; readonly got: A }) : {
    readonly expected: B
    readonly got: A
  })

/** Compiles only for `true`. */
export const holds = <T extends true>(): T => true as T

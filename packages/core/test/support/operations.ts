/**
 * The operations at which a test interrupts or kills a run: all of them if `RECOURSE_EVERY_STEP` is set. Otherwise they are a number
 * of operations apart, and `RECOURSE_SEED` chooses the first.
 */
export const operationsApart = (apart: number): { readonly from: number; readonly stride: number } => {
  const stride = process.env["RECOURSE_EVERY_STEP"] === undefined ? apart : 1
  return { from: 1 + Number(process.env["RECOURSE_SEED"] ?? 0) % stride, stride }
}

/** Operations from `first` to the one before `end`. */
export const operationsBetween = (first: number, end: number, apart: number): ReadonlyArray<number> => {
  const { from, stride } = operationsApart(apart)
  const start = first + from - 1
  return Array.from({ length: Math.max(0, Math.ceil((end - start) / stride)) }, (_, nth) => start + nth * stride)
}

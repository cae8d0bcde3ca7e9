/**
 * At which operations a test cuts a run off: every one, where `RECOURSE_EVERY_STEP` says so; where not, each of so many, and
 * `RECOURSE_SEED` chooses the first.
 */
export const operationsApart = (apart: number): { readonly from: number; readonly stride: number } => {
  const stride = process.env["RECOURSE_EVERY_STEP"] === undefined ? apart : 1
  return { from: 1 + Number(process.env["RECOURSE_SEED"] ?? 0) % stride, stride }
}

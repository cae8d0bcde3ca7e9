/**
 * Error projections: the only conversion of a failure to text for a model, a user and an operator.
 *
 * Opaque by default: an executor's own error, a defect or a cause becomes a code, a fixed sentence and the id of the
 * run. A model or a user reads more only if the program declares it: field paths and expectations of schemas,
 * escalations, and the texts of a tool's `failure` schema. Declared text is redacted as well.
 */
export {
  forModel,
  forOperator,
  forUser,
  type OperatorProjection,
  type UserProjection,
  userTexts
} from "./internal/projection/audiences.ts"
export {
  Code,
  type Declaration,
  declare,
  type Localised,
  ModelText,
  Outcome,
  RetryAfter,
  UserText
} from "./internal/projection/declaration.ts"
export {
  blocked,
  denied,
  notRun,
  rejected,
  repeatedCall,
  toolFailure,
  toolNotFound,
  type UserTexts,
  waiting
} from "./internal/projection/failures.ts"
export { TruncatedResult, type TruncatedResultSchema } from "./internal/projection/longResult.ts"
export { ToolFailure, type ToolFailureSchema } from "./internal/projection/toolFailure.ts"

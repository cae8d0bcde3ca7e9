/**
 * Run-time checks of options, for packages that add to Recourse: names and values that only the compiler would refuse are
 * `ConfigurationError`, with a sentence that names the subject and the option.
 */
export {
  aBoolean,
  aCap,
  aCount,
  aDuration,
  aFunction,
  aLimit,
  anArray,
  anInterval,
  anObject,
  aNumber,
  anything,
  aPositiveCount,
  aShare,
  aString,
  aTimeLimit,
  checkArgument,
  type Checked,
  checkOptions,
  either,
  type Kind,
  listOf,
  oneOf
} from "./internal/foundation/options/optionCheck.ts"

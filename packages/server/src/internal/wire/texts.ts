/** Texts of failures that have none for the user. */

/** Text about a failed call. */
export const couldNot = (name: string): string => `${name} could not be completed.`

/** Text about a failed run or request. */
export const wentWrong = "Something went wrong."

/** Texts of failures that have none for the user. */

/** What is said of a failed call. */
export const couldNot = (name: string): string => `${name} could not be completed.`

/** What is said of a failed run or request. */
export const wentWrong = "Something went wrong."

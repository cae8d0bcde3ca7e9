/** Planted texts of drawn programs, by which laws recognise their sources. */

/** Text of an outsider. */
export const outside = "planted-by-an-outsider"

/** Preliminary result of a tool. */
export const soFar = "said-before-the-result"

/** Guards' replacement of an input and of an answer. */
export const instead = "something else"

/** An agent's answer instead of the model's. */
export const substitute = "said in the place of the model"

/** The agent's input, in a conversation with so many answers. */
export const question = (answers: number): string => `Do it after ${answers}`

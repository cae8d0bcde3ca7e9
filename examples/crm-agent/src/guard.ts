/** Whether a text from outside speaks to the model that reads it. A net with holes: it is one wall of several. */
const patterns = [
  /\b(?:ignore|disregard|forget)\b.{0,30}\b(?:previous|prior|above|earlier)\b.{0,20}\b(?:instructions?|prompts?|rules)\b/iu,
  /\b(?:you are now|new instructions|system prompt)\b/iu,
  /<\/?(?:system|assistant|tool)>/iu
]

export const looksLikeInstructions = (text: string): boolean => patterns.some((pattern) => pattern.test(text))

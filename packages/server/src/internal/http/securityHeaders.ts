/** Headers of each answer: a browser guesses no other type, and sends no address of a page to another site. */
export const securityHeaders = { "x-content-type-options": "nosniff", "referrer-policy": "no-referrer" }

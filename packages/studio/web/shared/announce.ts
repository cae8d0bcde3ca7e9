/** Tells screen readers what changed, where a change is not otherwise announced. */

const region = (): HTMLElement => {
  const known = document.getElementById("announcer")
  if (known !== null) return known
  const made = document.createElement("div")
  made.id = "announcer"
  made.className = "visually-hidden"
  made.setAttribute("role", "status")
  made.setAttribute("aria-live", "polite")
  document.body.append(made)
  return made
}

/** Says a sentence, also where it is the one that was said last. */
export const announce = (sentence: string): void => {
  const at = region()
  at.textContent = ""
  setTimeout(() => {
    at.textContent = sentence
  }, 60)
}

// A region has to be there before it changes.
region()

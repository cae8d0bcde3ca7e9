/** Reports changes to screen readers that are not announced otherwise. */

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

/** Announces a sentence, also if it equals the last one. */
export const announce = (sentence: string): void => {
  const at = region()
  at.textContent = ""
  setTimeout(() => {
    at.textContent = sentence
  }, 60)
}

// A region has to be there before it changes.
region()

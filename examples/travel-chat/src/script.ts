/** The model without a key: it follows the words of the user, and now and then forgets its text. */
import { ScriptedModel } from "@recourse/testing"
import type { Prompt } from "effect/ai"

const { call, calls, failure, text } = ScriptedModel

/** The user's last message, and the messages behind it. */
const turnOf = ({ content }: Prompt.Prompt): { readonly said: string; readonly rounds: number } => {
  const last = content.findLastIndex(({ role }) => role === "user")
  const message = content[last]
  const said = message?.role === "user"
    ? message.content.flatMap((part) => part.type === "text" ? [part.text] : []).join(" ").toLowerCase()
    : ""
  return { said, rounds: content.slice(last + 1).filter(({ role }) => role === "assistant").length }
}

const plan = [
  "Here is a plan for your days:",
  "",
  "| Day | Morning | Evening |",
  "| --- | --- | --- |",
  "| 1 | Alfama, by tram 28 | Fado in Mouraria |",
  "| 2 | The castle, before ten | A walk along the river |",
  "| 3 | Sintra, by train | Packing |",
  "",
  "Say **book a hotel** and I look for one near your first stop."
].join("\n")

/** Failures of the model that the user can request, to see their texts. */
const failures = {
  "model: authentication": failure("AuthenticationError"),
  "model: rate limit": failure("RateLimitError"),
  "model: bad request": failure("InvalidRequestError"),
  "model: connection": failure("NetworkError")
} as const

const isFailure = (said: string): said is keyof typeof failures => Object.hasOwn(failures, said)

const pace = "25 millis"

export const script: ScriptedModel.Behaviour = ({ prompt }, index) => {
  const { rounds, said } = turnOf(prompt)
  const one = (name: string, params: unknown) => call(name, params, { id: `call_${index}_${name}` })
  if (isFailure(said)) return failures[said]
  if (/who am i/.test(said)) return one("who_am_i", {})
  if (rounds > 0) {
    if (/hotel/.test(said) && /book/.test(said) && rounds === 1) {
      return one("book_hotel", { hotel: "Casa do Rio", nights: 3 })
    }
    if (/plan/.test(said)) return text(plan, { pace })
    if (/note/.test(said)) return text("It is noted.", { pace })
    if (/ben's trip/.test(said)) return text("I found no such trip.", { pace })
    return text("Done. What else may I do?", { pace })
  }
  if (/plan/.test(said)) return one("show_trip", {})
  if (/hotels and trips/.test(said)) {
    return calls([
      { id: `call_${index}_a`, name: "search_hotels", params: { city: "Atlantis" } },
      { id: `call_${index}_b`, name: "list_trips", params: {} }
    ])
  }
  if (/closed account/.test(said)) return one("search_hotels", { city: "Nowhere" })
  if (/atlantis/.test(said)) return one("search_hotels", { city: "Atlantis" })
  if (/hotel/.test(said)) return one("search_hotels", {})
  if (/add a place/.test(said)) return one("add_place", {})
  if (/belém|museum/.test(said)) return one("add_place", { place: "Belém" })
  if (/note/.test(said)) return one("add_note", { note: "Tickets are in the mail" })
  if (/ben's trip/.test(said)) return one("show_trip", { trip: "oslo" })
  if (/trips/.test(said)) return one("list_trips", {})
  return text(`I can show your trips, plan your days, find and book hotels, and note things. You said: ${said}`, {
    pace
  })
}

/** The model of the peers: it looks an order up, refunds it, and calls again if a text does not advise against that. */
import type { ScriptedAnswers, ScriptedCall } from "../adapters/loop.ts"
import type { Plan } from "./world.ts"

/** Words of a result that advise against a repetition of the call, or say that a person decides. */
const advice = /"safe_to_retry":false|approval|denied|not allowed|rejected/i

const refunded = /refunded 7/

/** Makes the answers of the model in one process. Call ids differ between processes, like those of providers. */
export const answersOf = (plan: Plan, process: number): ScriptedAnswers => {
  const made: Array<ScriptedCall> = []
  const call = (name: string, args: object): ReadonlyArray<ScriptedCall> => {
    const scripted = { id: `p${process}_${made.length + 1}`, name, arguments: JSON.stringify(args) }
    made.push(scripted)
    return [scripted]
  }
  return (results) => {
    const of = (name: string) => made.filter((one) => one.name === name).map(({ id }) => results[id] ?? "")
    if (plan.readsMail && of("mail").length === 0) return call("mail", {})
    const orders = of("orders")
    if (orders.length < 3 && !orders.some((text) => text.includes("shipped"))) return call("orders", { order: "7" })
    if (!orders.some((text) => text.includes("shipped"))) return "I could not look up the order."
    const refunds = of("refund")
    const last = refunds.at(-1)
    if (last === undefined) return call("refund", { order: "7" })
    if (refunded.test(last)) return "Refunded."
    const mayRepeat = refunds.length < 3 && (plan.isStubborn || !advice.test(last))
    return mayRepeat ? call("refund", { order: "7" }) : "I could not confirm the refund."
  }
}
